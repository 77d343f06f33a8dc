# All that passes between R and tablecloak: a request in JSON, a command, an answer in JSON.

program_of_user <- function() getOption("tablecloak.program", "tablecloak")

require_program <- function(program) {
  if (Sys.which(program) == "" && !file.exists(program)) {
    stop(
      "The program ", program, " cannot be found. Install it with: pip install tablecloak. If it is ",
      "elsewhere, say where: options(tablecloak.program = \"/path/to/tablecloak\").",
      call. = FALSE
    )
  }
}

# Run the program with these words. Returns its exit code and what it printed.
run <- function(words, program = program_of_user()) {
  require_program(program)
  quoted <- shQuote(words, type = if (.Platform$OS.type == "windows") "cmd" else "sh")
  # Errors without the frame that a terminal gets.
  before <- Sys.getenv("TYPER_USE_RICH", NA)
  Sys.setenv(TYPER_USE_RICH = "0")
  on.exit(if (is.na(before)) Sys.unsetenv("TYPER_USE_RICH") else Sys.setenv(TYPER_USE_RICH = before))
  told <- tryCatch(
    suppressWarnings(system2(program, quoted, stdout = TRUE, stderr = TRUE, env = library_path())),
    error = function(gone) {
      stop("The program ", program, " cannot be run: is the Python that it was installed with still there? ",
           "Install it anew with: pip install tablecloak.", call. = FALSE)
    }
  )
  status <- attr(told, "status")
  list(status = if (is.null(status)) 0L else as.integer(status), told = as.character(told))
}

# R puts folders of the system in front of the libraries that Python was built with, and Python may
# then load those of another Python. The system looks into these folders in any case.
library_path <- function(given = Sys.getenv("LD_LIBRARY_PATH")) {
  if (.Platform$OS.type == "windows" || given == "") return(character())
  parts <- strsplit(given, ":", fixed = TRUE)[[1]]
  own <- parts[!startsWith(parts, R.home()) & !grepl("^/(usr/)?lib", parts)]
  paste0("LD_LIBRARY_PATH=", shQuote(paste(own, collapse = ":")))
}

# Why the program ended: what stands behind the last "Error:", without folders that the user never made.
reason <- function(told) {
  begun <- utils::tail(grep("^Error: ", told), 1)
  if (length(begun)) told <- told[begun:length(told)]
  text <- sub("^Error: ", "", paste(told, collapse = "\n"))
  gsub(paste0(normalizePath(tempdir()), "/tablecloak-[0-9a-f]+/"), "", text)
}

# Ask one question and return the answer. `request` has the arguments by name.
ask <- function(call, request) {
  require_program(program_of_user())
  request <- located(request, sent)
  begin <- function() {
    if (is.null(session$server)) session$server <- started()
    if (!isFALSE(session$server)) http("POST", paste0("/v1/", call), as_json(request))
  }
  # A server that has ended since the last question is started anew.
  job <- tryCatch(begin(), tablecloak_gone = function(gone) begin())
  if (isFALSE(session$server)) return(ask_by_file(call, request))
  # Also when the user interrupts: this ends the search, and nothing is kept of it.
  on.exit(if (!is.null(job$id)) try(http("DELETE", paste0("/v1/jobs/", job$id)), silent = TRUE))
  while (isTRUE(job$state %in% c("waiting", "running"))) {
    # Not longer, since R looks for limits of time between two questions only.
    job <- http("GET", paste0("/v1/jobs/", job$id, "?wait=5"))
  }
  for (each in unlist(job$warnings)) warning(each, call. = FALSE)
  # Names of what was sent are those of files that the user never made.
  if (is.null(job$answer)) {
    stop(if (is.null(job$error)) "Nothing was proved." else in_r(job$error$message), call. = FALSE)
  }
  job$answer
}

# A message of the program: R sends a single value as itself, and the files of a request are its own.
in_r <- function(message) {
  message <- sub("^(request|data\\.csv): ", "", message)
  # A file has a line above its first row.
  at <- regmatches(message, regexec("data\\.csv, (row|line) ([0-9]+)", message))[[1]]
  if (length(at)) {
    message <- sub(at[1], paste("Row", as.integer(at[3]) - (at[2] == "line"), "of data"), message, fixed = TRUE)
  }
  message <- gsub(", in Python `?[A-Za-z_.]+\\([^)]*\\)`?", "", message)
  message <- sub("see docs/job-file.md", "see ?rule and ?protect", message, fixed = TRUE)
  sub("should be a valid list\\.", "should be a valid list: give it as list(...).", message)
}

# What the program declares of a job file: which keys name files, and which are of the table itself.
declared <- function() {
  jsonlite::fromJSON(system.file("job.json", package = "tablecloak"), simplifyVector = FALSE)
}

# The request with all files that its keys name: tables are written under a name of their own, and
# `place` says what stands for the path of another file. It returns a path, or a name with its text.
located <- function(request, place) {
  if (is.null(request$data)) return(request)
  files <- request$files
  add <- function(name, content) {
    name <- sub("^[.-]", "_", gsub("[^A-Za-z0-9_.-]", "_", name))
    while (name %in% names(files)) name <- paste0("other-", name)
    files[[name]] <<- content
    name
  }
  for (keys in declared()$paths) request <- within_keys(request, keys, function(given) {
    if (inherits(given, "tablecloak_release")) given <- as.data.frame(given)
    if (is.data.frame(given)) return(add(paste0(keys[[length(keys)]], ".csv"), given))
    if (!is.character(given) || length(given) != 1 || given %in% names(request$files)) return(given)
    place(given, add)
  })
  request$files <- files
  request
}

within_keys <- function(given, keys, work) {
  if (!length(keys)) return(if (is.null(given)) NULL else work(given))
  if (!is.list(given) || is.data.frame(given)) return(given)
  for (one in if (keys[[1]] == "*") seq_along(given) else intersect(keys[[1]], names(given))) {
    given[one] <- list(within_keys(given[[one]], keys[-1], work))
  }
  given
}

# Relative to getwd(), as all paths in R.
absolute <- function(path, add) {
  if (grepl("^(/|~|[A-Za-z]:|\\\\)", path)) path.expand(path) else file.path(getwd(), path)
}

sent <- function(path, add) add(basename(path), text_of(path))

# Where the program has no server, each question is a run of its own.
ask_by_file <- function(call, request) {
  in_folder(function(folder) {
    sent <- file.path(folder, "request.json")
    got <- file.path(folder, "answer.json")
    writeLines(enc2utf8(as_json(request)), sent, useBytes = TRUE)
    done <- run(c("call", call, sent, "-o", got))
    # Code 1: there is an answer, but it is not proved to be safe.
    if (!done$status %in% c(0L, 1L) || !file.exists(got)) stop(in_r(reason(done$told)), call. = FALSE)
    jsonlite::fromJSON(got)
  })
}

# The server of this session: port and token, or FALSE where there can be none.
session <- new.env()

# Start a server on a free port. It ends when its standard input does, and that a second after R.
started <- function() {
  if (.Platform$OS.type == "windows") return(FALSE)
  told <- tempfile("tablecloak-")
  # What the server keeps for a question lies in the folder of this session, which ends with it.
  settings <- c(library_path(), paste0("TMPDIR=", shQuote(tempdir())))
  server <- paste(c(settings, shQuote(program_of_user()), "serve --attached"), collapse = " ")
  # Nothing of R's own output is held open: who waits for its end would wait for the server.
  alive <- paste("exec >/dev/null 2>&1; while kill -0", Sys.getpid(), "; do sleep 1; done |")
  system(paste(alive, "{", server, "; echo ended; } >", shQuote(told), "2>&1"), wait = FALSE)
  for (tried in 1:600) {
    lines <- if (file.exists(told)) readLines(told, warn = FALSE)
    if (length(lines) >= 2 || "ended" %in% lines) break
    if (tried == 20) message("tablecloak starts; later questions do not wait for this.")
    Sys.sleep(0.1)
  }
  address <- regmatches(lines, regexpr("(?<=^tablecloak serves at http://127.0.0.1:)[0-9]+", lines, perl = TRUE))
  if (!length(address)) return(FALSE)
  list(port = as.integer(address), token = sub("^token: ", "", lines[2]))
}

# R has no POST of its own: a request of HTTP/1.0, whose answer ends where the connection does.
http <- function(verb, path, body = "") {
  server <- session$server
  connection <- tryCatch(
    suppressWarnings(
      socketConnection("127.0.0.1", server$port, open = "r+b", blocking = TRUE, timeout = 300)
    ),
    error = function(failed) {
      # A limit of time that the user set may end here too, and says nothing of the server.
      refused <- conditionMessage(failed) == gettext("cannot open the connection", domain = "R")
      if (refused) server_ended("tablecloak_gone") else stop(failed)
    }
  )
  on.exit(close(connection))
  body <- charToRaw(enc2utf8(body))
  head <- paste0(
    verb, " ", path, " HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ", server$token,
    "\r\nContent-Type: application/json\r\nContent-Length: ", length(body), "\r\n\r\n"
  )
  writeBin(c(charToRaw(head), body), connection)
  parts <- list()
  while (length(part <- readBin(connection, "raw", 2^20))) parts <- c(parts, list(part))
  if (!length(parts)) server_ended("tablecloak_ended")
  answer <- rawToChar(do.call(c, parts))
  Encoding(answer) <- "UTF-8"
  jsonlite::fromJSON(sub("(?s)^.*?\r\n\r\n", "", answer, perl = TRUE))
}

# Say that there is no server any more; the next question starts another.
server_ended <- function(kind) {
  session$server <- NULL
  text <- paste(
    "The server of tablecloak has ended while it worked on this question, perhaps for want of memory.",
    "Ask again: another server starts."
  )
  stop(structure(class = c(kind, "error", "condition"), list(message = text, call = NULL)))
}

# A table is sent as its columns, a single value as itself, NULL and what is missing as null.
as_json <- function(request) {
  jsonlite::toJSON(
    request,
    dataframe = "columns", auto_unbox = TRUE, digits = NA, na = "null", null = "null"
  )
}

# c(A = "x") is sent with its names, which vectors lose in JSON.
named <- function(given) if (is.null(names(given))) given else as.list(given)

# The texts of .hrc files, by variable.
texts <- function(paths) {
  if (is.null(paths)) return(NULL)
  if (is.null(names(paths))) stop("hrc must be named by variables, as in c(ACTIVITY = \"nace.hrc\").")
  lapply(as.list(paths), text_of)
}

text_of <- function(path) {
  require_file(path, "A file of codes or of perturbations")
  if (any(readBin(path, "raw", 1000) == 0)) {
    stop(path, " is no text. Give the table as a data frame, or as CSV.", call. = FALSE)
  }
  paste0(paste(readLines(path, warn = FALSE, encoding = "UTF-8"), collapse = "\n"), "\n")
}

# Arguments of rtauargus that only say how tau-ARGUS is called, and where it leaves its files.
unused <- c(
  "files_name", "dir_name", "show_batch_console", "verbose", "tauargus_exe", "logbook",
  "missing_dir", "import", "is_tabular", "separator", "gointeractive"
)

others <- function(...) {
  given <- list(...)
  given[setdiff(names(given), unused)]
}
