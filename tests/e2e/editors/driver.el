;;; driver.el --- What a test asks of Emacs  -*- lexical-binding: t -*-

;; One JSON object a line comes over a socket, is done as a person would do it, and is answered.

(require 'cl-lib)
(require 'flymake)

(defvar driver-wanted nil "The title to choose in the next menu, or its beginning.")
(defvar driver-offered nil "The titles the last menu offered.")
(defvar driver-question "" "What the server asked.")
(defvar driver-pending "" "What came over the socket and is no whole line yet.")

(defun driver-complete (_prompt collection &rest _)
  "Choose the wanted title in COLLECTION, as the menu of code actions."
  (setq driver-offered (mapcar (lambda (item) (if (consp item) (car item) item)) collection))
  (or (car (member driver-wanted driver-offered))
      (cl-find-if (lambda (title) (string-prefix-p driver-wanted title)) driver-offered)
      (keyboard-quit)))

(defun driver-buffer (path)
  (or (find-buffer-visiting path) (error "%s is not open" path)))

(defun driver-open (path)
  (switch-to-buffer (find-file-noselect path))
  (run-hooks 'post-command-hook)) ; the socket is no command, and Eglot starts after one

(defun driver-version ()
  (format "%d" emacs-major-version))

(defun driver-is_ready ()
  (if (and (fboundp 'eglot-current-server) (eglot-current-server) eglot--managed-mode) t :false))

(defun driver-hunks (path)
  (with-current-buffer (driver-buffer path)
    (let ((hunks (make-hash-table :test 'equal)))
      (dolist (diagnostic (flymake-diagnostics) hunks)
        (let ((sent (alist-get 'eglot-lsp-diag (flymake-diagnostic-data diagnostic))))
          (when (equal (plist-get sent :source) "rolecall")
            (puthash (plist-get sent :code)
                     (list :line (1- (line-number-at-pos (flymake-diagnostic-beg diagnostic)))
                           :message (plist-get sent :message))
                     hunks)))))))

(defun driver-choose (path line title)
  (switch-to-buffer (driver-buffer path))
  (goto-char (point-min))
  (forward-line line)
  (let ((driver-wanted title)
        (completing-read-function #'driver-complete)
        (last-nonmenu-event ?\r)) ; a key, so that no menu of a mouse opens
    (setq driver-offered nil)
    (condition-case nil (call-interactively #'eglot-code-actions) (quit nil))
    (vconcat driver-offered)))

(defun driver-reply_next (answer)
  "Give ANSWER when the server asks something."
  (setq driver-question "")
  (setq completing-read-function
        (lambda (prompt &rest _) (setq driver-question (substring-no-properties prompt)) answer)))

(defun driver-question ()
  driver-question)

(defun driver-command (name)
  (rolecall name))

(defun driver-type (path before typed)
  (switch-to-buffer (driver-buffer path))
  (goto-char (point-min))
  (search-forward before)
  (goto-char (match-beginning 0))
  (undo-boundary)
  (mapc (lambda (key) (let ((last-command-event key)) (call-interactively #'self-insert-command))) typed)
  (undo-boundary))

(defun driver-write (path text)
  (driver-open path)
  (erase-buffer)
  (insert text)
  (save-buffer))

(defun driver-undo (path)
  (switch-to-buffer (driver-buffer path))
  (undo-boundary) ; as the command loop sets after each command
  (let (last-command) (undo))
  (undo-boundary))

(defun driver-text (path)
  (with-current-buffer (driver-buffer path)
    (save-restriction (widen) (buffer-substring-no-properties (point-min) (point-max)))))

(defun driver-opened ()
  (vconcat (delq nil (mapcar #'buffer-file-name (buffer-list)))))

(defun driver-shown ()
  (or (buffer-file-name (window-buffer (selected-window))) ""))

(defun driver-save_all ()
  (let ((coding-system-for-write nil)) (save-some-buffers t)))

(defun driver-close (path)
  (kill-buffer (driver-buffer path)))

(defun driver-messages ()
  (with-current-buffer "*Messages*" (buffer-string)))

(defun driver-prompt ()
  "What the minibuffer asks, or the empty string."
  (let ((asking (active-minibuffer-window)))
    (if asking (with-current-buffer (window-buffer asking) (or (minibuffer-prompt) "")) "")))

(defun driver-answer (socket line)
  (let* ((request (json-parse-string line :object-type 'plist :array-type 'list))
         (verb (intern (concat "driver-" (plist-get request :verb))))
         (reply (condition-case problem
                    (with-current-buffer (window-buffer (selected-window))
                      (list :result (apply verb (plist-get request :arguments))))
                  (error (list :error (error-message-string problem))))))
    (process-send-string
     socket (concat (condition-case nil (json-serialize reply) (error "{\"result\": null}")) "\n"))))

(defun driver-read (socket data)
  (setq driver-pending (concat driver-pending data))
  (while (string-match "\n" driver-pending)
    (let ((line (substring driver-pending 0 (match-beginning 0))))
      (setq driver-pending (substring driver-pending (match-end 0)))
      (driver-answer socket line))))

(make-network-process :name "driver" :host "127.0.0.1" :service (string-to-number (getenv "DRIVER_PORT"))
                      :coding 'utf-8-unix :filter #'driver-read :noquery t)
