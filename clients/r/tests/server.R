# The server of a session, and what is said when the program fails.
library(tablecloak)
refused <- function(question) conditionMessage(tryCatch(question, error = identity))
program <- function(...) {
  path <- tempfile("program-")
  writeLines(c(...), path)
  Sys.chmod(path, "0700")
  path
}
if (.Platform$OS.type == "unix") {
  cells <- tempfile(fileext = ".jj")
  writeLines("0", cells)
  options(tablecloak.program = program("#!/no/python"))
  stopifnot(grepl("Python.*pip install", refused(read_cells(cells))))
  # Only why it failed: no frame, no usage, no folder of ours.
  options(tablecloak.program = program(
    "#!/bin/sh", "echo \"Usage: tablecloak convert\"; echo; echo \"Error: $3: wrong.\"; exit 2"
  ))
  stopifnot(identical(refused(read_cells(cells)), "cells.csv: wrong."))
  # A verifier that breaks off has the code of a refusal, and refuses nothing.
  options(tablecloak.program = program("#!/bin/sh", "echo Out of memory; exit 1"))
  stopifnot(grepl("could not be checked.*Out of memory", refused(verify(cells, verifier = "python"))))
  # A server that ends before it serves is none.
  stopifnot(isFALSE(tablecloak:::started()))
  options(tablecloak.program = NULL)
}
if (nzchar(Sys.which("tablecloak")) && !isFALSE(tablecloak:::started())) {
  cells <- data.frame(region = c("N", "S", "Total"), value = c(3, 4, 7), secret = c(TRUE, FALSE, FALSE))
  problem <- protect(cells, "region", finished = TRUE, flags = "secret")
  stopifnot(suppress(problem, time_limit = 5)$is_safe)
  # A question that is interrupted is none of the server any more.
  set.seed(1)
  firms <- data.frame(id = 1:4000, a = sample(letters, 4000, TRUE), b = sample(LETTERS, 4000, TRUE),
                      c = sample(9, 4000, TRUE), v = exp(stats::rnorm(4000, 4, 2)))
  large <- protect(firms, c("a", "b", "c"), "v", rule("p-percent", p = 10), contributor = "id")
  stopped <- tryCatch({
    setTimeLimit(elapsed = 3, transient = TRUE)
    suppress(large, time_limit = 60)
  }, error = conditionMessage)
  setTimeLimit()
  stopifnot(grepl("time limit", stopped), !length(tablecloak:::http("GET", "/v1/jobs")$jobs))
  # A server that has ended is started anew.
  before <- tablecloak:::session$server
  assign("server", list(port = 1L, token = before$token), tablecloak:::session)
  stopifnot(suppress(problem, time_limit = 5)$is_safe)
}
