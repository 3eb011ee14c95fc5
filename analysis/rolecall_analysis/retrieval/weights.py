"""The weight of each kind of evidence. These are the only numbers of the ranking that were learnt.

Source: `docs/retrieval.md` has how they were chosen, what each is worth alone and what is lost without it.
"""

from __future__ import annotations

from collections.abc import Mapping

FILE_WEIGHTS: Mapping[str, float] = {
    "contents": 1.2,
    "subject": 1.1,
    "past": 0.8,
    "file name": 0.8,
    "churn": 0.7,
    "code names": 0.7,
    "symbols": 0.5,
    "folder name": 0.5,
    "past commits": 0.5,
    "changed with the seed": 0.6,
    "changed with the seed before": 0.4,
    "names what the seed defines": 0.6,
    "imported by the seed": 0.5,
    "imports the seed": 0.5,
    "near the seed": 0.4,
    "defines what is named at the cursor": 0.5,
}

FUNCTION_WEIGHTS: Mapping[str, float] = {
    "file": 1.9,
    "own words": 2.3,
    "own subject": 1.7,
    "function name": 0.9,
    "class named": 0.8,
    "function past": 0.7,
    "function past commits": 0.7,
    "named": 0.5,
    "named by the likeliest": 0.5,
    "named at the cursor": 1.0,
    "names what is at the cursor": 1.0,
}

REASONS: Mapping[str, str] = {
    "contents": "its text has the words asked for",
    "subject": "its text has the words of the first line",
    "past": "commits that changed it were described alike",
    "past commits": "commits that were described alike changed it",
    "changed with the seed before": "commits that were described alike changed it together with {seed}",
    "file name": "its name is asked for",
    "churn": "it was worked on lately",
    "code names": "it has the names asked for",
    "symbols": "what it defines has the words of the first line",
    "folder name": "its folder is asked for",
    "changed with the seed": "it often changed together with {seed}",
    "names what the seed defines": "it uses names of {seed}",
    "imported by the seed": "{seed} imports it",
    "imports the seed": "it imports {seed}",
    "near the seed": "it is close to {seed}",
    "defines what is named at the cursor": "it defines a name at the cursor",
    "file": "its file is likely concerned",
    "own words": "its text has the words asked for",
    "own subject": "its text has the words of the first line",
    "function name": "its name has the words asked for",
    "named": "it is named",
    "class named": "its class is named",
    "named at the cursor": "it is named at the cursor",
    "names what is at the cursor": "it names the function at the cursor",
    "function past": "commits that changed it were described alike",
    "function past commits": "commits that were described alike changed it",
    "named by the likeliest": "functions that are likely concerned name it",
}
"""The sentence about an item for which a kind of evidence speaks."""
