# All that passes between R and tablecloak: a request in JSON, a command, an answer in JSON.

# Run the program with these words. Returns its exit code and what it printed.
run <- function(words, program = getOption("tablecloak.program", "tablecloak")) {
  if (Sys.which(program) == "" && !file.exists(program)) {
    stop(
      "The program ", program, " cannot be found. Install it with: pip install tablecloak. If it is ",
      "elsewhere, say where: options(tablecloak.program = \"/path/to/tablecloak\").",
      call. = FALSE
    )
  }
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
