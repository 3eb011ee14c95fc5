# Started by cargo in place of each test program, which is the first argument: has it report in JSON.
# libtest looks at this variable when it runs; set for the compiler, it would change what is compiled.
printf '{"kind":"program","path":"%s"}\n' "$1"
RUSTC_BOOTSTRAP=1 exec "$@" -Z unstable-options --format=json --report-time
