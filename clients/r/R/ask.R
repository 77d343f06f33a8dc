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
  told <- suppressWarnings(
    system2(program, quoted, stdout = TRUE, stderr = TRUE, env = library_path())
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

# Ask one question and return the answer. `request` has the arguments by name.
ask <- function(call, request) {
  require_program(program_of_user())
  if (is.null(session$server)) session$server <- started()
  if (isFALSE(session$server)) return(ask_by_file(call, request))
  job <- http("POST", paste0("/v1/", call, "?wait=60"), as_json(request))
  # Also when the user interrupts: this ends the search, and nothing is kept of it.
  on.exit(if (!is.null(job$id)) http("DELETE", paste0("/v1/jobs/", job$id)))
  while (isTRUE(job$state %in% c("waiting", "running"))) {
    job <- http("GET", paste0("/v1/jobs/", job$id, "?wait=60"))
  }
  for (each in unlist(job$warnings)) warning(each, call. = FALSE)
  # Names of what was sent are those of files that the user never made.
  if (is.null(job$answer)) {
    stop(if (is.null(job$error)) "Nothing was proved." else sub("^(request|data\\.csv): ", "", job$error$message),
         call. = FALSE)
  }
  job$answer
}

# Where the program has no server, each question is a run of its own.
ask_by_file <- function(call, request) {
  in_folder(function(folder) {
    sent <- file.path(folder, "request.json")
    got <- file.path(folder, "answer.json")
    writeLines(enc2utf8(as_json(request)), sent, useBytes = TRUE)
    done <- run(c("call", call, sent, "-o", got))
    # Code 1: there is an answer, but it is not proved to be safe.
    if (!done$status %in% c(0L, 1L) || !file.exists(got)) stop(paste(done$told, collapse = "\n"), call. = FALSE)
    jsonlite::fromJSON(got)
  })
}

# The server of this session: port and token, or FALSE where there can be none.
session <- new.env()

# Start a server on a free port. It ends when its standard input does, and that a second after R.
started <- function() {
  if (.Platform$OS.type == "windows") return(FALSE)
  told <- tempfile("tablecloak-")
  server <- paste(library_path(), shQuote(program_of_user()), "serve --attached >", shQuote(told), "2>&1")
  # Nothing of R's own output is held open: who waits for its end would wait for the server.
  alive <- paste("exec >/dev/null 2>&1; while kill -0", Sys.getpid(), "; do sleep 1; done |")
  system(paste(alive, server), wait = FALSE)
  for (tried in 1:600) {
    lines <- if (file.exists(told)) readLines(told, warn = FALSE)
    if (length(lines) >= 2) break
    Sys.sleep(0.1)
  }
  address <- regmatches(lines, regexpr("(?<=^tablecloak serves at http://127.0.0.1:)[0-9]+", lines, perl = TRUE))
  if (!length(address)) return(FALSE)
  list(port = as.integer(address), token = sub("^token: ", "", lines[2]))
}

# R has no POST of its own: a request of HTTP/1.0, whose answer ends where the connection does.
http <- function(verb, path, body = "") {
  server <- session$server
  connection <- socketConnection("127.0.0.1", server$port, open = "r+b", blocking = TRUE, timeout = 300)
  on.exit(close(connection))
  body <- charToRaw(enc2utf8(body))
  head <- paste0(
    verb, " ", path, " HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ", server$token,
    "\r\nContent-Type: application/json\r\nContent-Length: ", length(body), "\r\n\r\n"
  )
  writeBin(c(charToRaw(head), body), connection)
  parts <- list()
  while (length(part <- readBin(connection, "raw", 2^20))) parts <- c(parts, list(part))
  answer <- rawToChar(do.call(c, parts))
  Encoding(answer) <- "UTF-8"
  jsonlite::fromJSON(sub("(?s)^.*?\r\n\r\n", "", answer, perl = TRUE))
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
