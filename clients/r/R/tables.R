# Functions on data frames. Each asks the program one question; ask.R says how.

#' A table to protect
#'
#' Says what the table is, and which of its cells are sensitive. Nothing is computed yet.
#' @param data Data frame: one row for each record, or, with \code{finished}, for each cell.
#' @param dimensions Names of the columns that span the table; or a list by these names, each with
#'   the columns of coarser levels (coarsest first, its own column last), a nested list of codes, the
#'   path of an .hrc file, or a list of keys as in a job file: \code{list(total = "All", hierarchy = "nace.hrc")}.
#' @param value Column that is summed up. Default: records are counted.
#' @param rules One \code{\link{rule}}, or a list of these.
#' @param finished Whether \code{data} is a table with its totals.
#' @param ... Further keys of the section data of a job file, such as \code{contributor},
#'   \code{holding}, \code{weight}, \code{frequency}, \code{flags}, and of the job itself, such as
#'   \code{protection} and, for linked tables of the same records,
#'   \code{tables = list(list(dimensions = c("region", "size")))}; all of them are listed in
#'   \url{https://github.com/tablecloak/tablecloak/blob/main/docs/job-file.md}.
#'   Paths are relative to \code{getwd()}; a data frame may stand in place of a file.
#' @return A problem, for \code{\link{suppress}} and the other functions.
#' @examples
#' firms <- data.frame(
#'   region = c("N", "N", "S", "S", "S", "N", "S"), size = c("a", "b", "a", "b", "b", "a", "a"),
#'   turnover = c(90, 8, 60, 55, 40, 70, 20)
#' )
#' problem <- protect(firms, c("region", "size"), "turnover", list(rule("p-percent", p = 10)))
#' if (nzchar(Sys.which("tablecloak"))) suppress(problem, time_limit = 5)
protect <- function(data, dimensions, value = NULL, rules = list(), finished = FALSE, ...) {
  if (!NROW(data)) stop("data has no rows. Give at least one.", call. = FALSE)
  more <- list(...)
  of_job <- names(more) %in% unlist(declared()$source)
  about <- c(list(file = "data.csv", kind = if (finished) "table" else "microdata", value = value), more[!of_job])
  if (is.character(dimensions)) {
    if (!is.null(names(dimensions))) {
      stop("Names of dimensions say nothing here. Give columns of coarser levels in a list, the own column last, ",
           "as in list(region = c(\"district\", \"region\")).", call. = FALSE)
    }
    dimensions <- stats::setNames(vector("list", length(dimensions)), dimensions)
  }
  if (is.null(names(dimensions))) {
    stop("dimensions takes names of columns, or a list by these, as in list(region = \"region.hrc\").", call. = FALSE)
  }
  spans <- lapply(dimensions, span_of, columns = names(data))
  files <- c(list("data.csv" = complete(as.data.frame(data))), lapply(spans, attr, "file"))
  for (name in names(spans)) if (!is.null(files[[name]])) {
    kind <- if (is.data.frame(files[[name]])) "csv" else tools::file_ext(spans[[name]]$hierarchy)
    file <- paste0("hierarchy-", match(name, names(spans)), ".", kind)
    names(files)[names(files) == name] <- file
    spans[[name]]$hierarchy <- file
  }
  spans <- lapply(spans, function(span) structure(span, file = NULL))
  request <- list(
    data = Filter(Negate(is.null), about), dimensions = spans, files = Filter(Negate(is.null), files)
  )
  if (!is.list(rules)) stop("rules takes rule(...), or a list of these.", call. = FALSE)
  if ("rule" %in% names(rules)) rules <- list(rules)
  if (length(rules)) request$rules <- unname(rules)
  request <- c(request, more[of_job])
  structure(list(request = request), class = "tablecloak_problem")
}

#' A rule that finds sensitive cells
#'
#' @param rule Such as \code{"p-percent"}, \code{"minimum-frequency"}, \code{"dominance"} or
#'   \code{"manual"}.
#' @param ... Parameters of the rule, as in a job file, which
#'   \url{https://github.com/tablecloak/tablecloak/blob/main/docs/job-file.md} lists.
#' @return A list.
#' @examples
#' rule("minimum-frequency", minimum = 3)
#' rule("dominance", n = 1, k = 85)
rule <- function(rule, ...) list(rule = rule, ...)

#' Hide cells
#'
#' Hides the cells whose loss is least, so that no sensitive value can be inferred, and attacks the
#' result.
#' @param problem Of \code{\link{protect}}, or what \code{\link{as_problem}} takes.
#' @param ... Keys of the section suppression of a job file, such as \code{time_limit} (seconds); see
#'   \url{https://github.com/tablecloak/tablecloak/blob/main/docs/job-file.md}.
#'   Paths are relative to \code{getwd()}; a data frame may stand in place of a file, such as for \code{previous}.
#' @return A release: \code{release} may be published, all else is secret. \code{is_safe} says
#'   whether the attack failed of an intruder who knows what is published and the external bounds,
#'   \code{promise} what is then proved, \code{loss} and \code{bound} how good the pattern is. Contributors,
#'   who know their own values besides, are protected against as far as a pattern can; \code{notes} say
#'   against whom none can. \code{\link{audit}} attacks as these contributors too, and its \code{is_safe} is
#'   \code{FALSE} if one of them succeeds.
#' @examples
#' cells <- data.frame(
#'   region = rep(c("N", "S", "Total"), each = 3), size = rep(c("a", "b", "Total"), 3),
#'   value = c(20, 50, 70, 30, 40, 70, 50, 90, 140), secret = c(TRUE, rep(FALSE, 8))
#' )
#' problem <- protect(cells, c("region", "size"), finished = TRUE, flags = "secret")
#' if (nzchar(Sys.which("tablecloak"))) as.data.frame(suppress(problem, time_limit = 5))
suppress <- function(problem, ...) one_way(problem, "suppress", suppression = options_of(...))

#' Move cells
#'
#' Moves sensitive cells to safe values and the others as little as possible; totals still add up.
#' @inheritParams suppress
#' @param ... Keys of the section adjustment of a job file, such as
#'   \code{preserve = list("mean:all")}.
#' @return A release, as of \code{\link{suppress}}.
#' @examples
#' cells <- data.frame(
#'   region = rep(c("N", "S", "Total"), each = 3), size = rep(c("a", "b", "Total"), 3),
#'   value = c(20, 50, 70, 30, 40, 70, 50, 90, 140), firms = c(9, 1, 10, 9, 9, 18, 18, 10, 28)
#' )
#' problem <- protect(cells, c("region", "size"), "value", rule("minimum-frequency", minimum = 3),
#'                    finished = TRUE, frequency = "firms")
#' if (nzchar(Sys.which("tablecloak"))) as.data.frame(adjust(problem, time_limit = 5))
adjust <- function(problem, ...) one_way(problem, "adjust", adjustment = options_of(...))

#' Publish intervals
#'
#' Publishes the narrowest intervals instead of gaps, so that no sensitive value can be inferred.
#' @inheritParams suppress
#' @param ... Keys of the section intervals of a job file.
#' @return A release, as of \code{\link{suppress}}.
#' @examples
#' cells <- data.frame(
#'   region = rep(c("N", "S", "Total"), each = 3), size = rep(c("a", "b", "Total"), 3),
#'   value = c(20, 50, 70, 30, 40, 70, 50, 90, 140), firms = c(9, 1, 10, 9, 9, 18, 18, 10, 28)
#' )
#' problem <- protect(cells, c("region", "size"), "value", rule("minimum-frequency", minimum = 3),
#'                    finished = TRUE, frequency = "firms")
#' if (nzchar(Sys.which("tablecloak"))) as.data.frame(intervals(problem, time_limit = 5))
intervals <- function(problem, ...) one_way(problem, "intervals", intervals = options_of(...))

#' Round counts
#'
#' Rounds a table of counts to multiples of a base so that it stays additive.
#' @inheritParams suppress
#' @param base Such as 3, 5 or 10.
#' @param ... \code{max_steps}, \code{weights}, \code{time_limit}, \code{small_counts}.
#' @return A release, as of \code{\link{suppress}}; without \code{release} if it is not safe.
#' @examples
#' cells <- data.frame(
#'   region = rep(c("N", "S", "Total"), each = 3), size = rep(c("a", "b", "Total"), 3),
#'   value = c(20, 50, 70, 30, 40, 70, 50, 90, 140), firms = c(9, 1, 10, 9, 9, 18, 18, 10, 28)
#' )
#' counts <- protect(cells, c("region", "size"), "firms", rule("minimum-frequency", minimum = 3),
#'                   finished = TRUE, frequency = "firms")
#' if (nzchar(Sys.which("tablecloak"))) as.data.frame(round_counts(counts, base = 5, time_limit = 5))
round_counts <- function(problem, base = 3, ...) {
  rounded <- one_way(problem, "round", base = base, ...)
  # How an intruder reads it, for audit().
  rounded$made <- paste0(if (isTRUE(list(...)$small_counts)) "small_counts:" else "rounding:", base)
  rounded
}

#' Perturb by cell keys
#'
#' Changes each cell by a number that its records fix, whichever table it stands in.
#'
#' Records need a column \code{record_key}, a number from 0 to below 1. It is drawn once for each record,
#' kept secret, and the same for ever and in every table: whoever gets a table with other keys averages
#' the noise away. The command \code{tablecloak cellkey keys firms.csv --id firm --secret FILE -o keyed.csv}
#' derives it from the identity of each record and a file that \code{tablecloak cellkey secret} writes once.
#' @inheritParams suppress
#' @param ptable Perturbation table: path of a file, as \code{tablecloak cellkey design} writes it, or a data frame.
#' @param ... Further keys of the section perturbation of a job file, such as \code{threshold}.
#' @return A release, as of \code{\link{suppress}}. Nothing is proved of it: \code{is_safe} is \code{NA}, or
#'   \code{FALSE} if somebody who knows the perturbation table computes a count exactly; \code{audit} says more.
#' @examples
#' people <- data.frame(
#'   region = rep(c("N", "S"), c(7, 4)), age = rep(c("young", "old"), c(5, 6)),
#'   record_key = (0.5 + 0:10) / 11
#' )
#' # Each count becomes one less or one more; tablecloak cellkey design makes better tables.
#' ptable <- data.frame(
#'   i = c(0, 1, 1, 2, 2), j = c(0, 0, 2, 1, 3), p = c(1, 0.5, 0.5, 0.5, 0.5), v = c(0, -1, 1, -1, 1),
#'   p_int_ub = c(1, 0.5, 1, 0.5, 1)
#' )
#' if (nzchar(Sys.which("tablecloak"))) {
#'   as.data.frame(cell_keys(protect(people, c("region", "age")), ptable))
#' }
cell_keys <- function(problem, ptable, ...) {
  one_way(problem, "cellkey", perturbation = c(list(kind = "counts", ptable = ptable), list(...)))
}

#' Attack a release
#'
#' @inheritParams suppress
#' @param release A release, whoever made it: of \code{\link{suppress}}, a data frame with codes
#'   and \code{status} (published or suppressed), or codes and \code{value}, a table of
#'   \code{\link{tab_rtauargus}} or \code{\link{tab_multi_manager}}, or a protected problem of sdcTable.
#' @param ... Arguments of the call, such as \code{detail = "intervals"}, or, for values that somebody
#'   else rounded, \code{made = "rounding:5"}. Who attacks these knows whether each is the nearest
#'   multiple, which \code{\link{round_counts}} does not tell: the verdict can be stricter than its own.
#' @return A list: \code{is_safe}, \code{summary}, and \code{sensitive}, a data frame that is secret.
#'   With a \code{contributor} in the problem, contributors attack as well, with their own values: then
#'   \code{is_safe} asks more than that of \code{\link{suppress}}, which is about everybody else.
#' @examples
#' cells <- data.frame(
#'   region = rep(c("N", "S", "Total"), each = 3), size = rep(c("a", "b", "Total"), 3),
#'   value = c(20, 50, 70, 30, 40, 70, 50, 90, 140), firms = c(9, 1, 10, 9, 9, 18, 18, 10, 28)
#' )
#' problem <- protect(cells, c("region", "size"), "value", rule("minimum-frequency", minimum = 3),
#'                    finished = TRUE, frequency = "firms")
#' naive <- cells[c("region", "size", "value")]
#' naive$value[2] <- NA
#' if (nzchar(Sys.which("tablecloak"))) audit(problem, naive)$summary
audit <- function(problem, release, ...) {
  problem <- as_problem(problem)
  given <- list(...)
  if (inherits(release, "tablecloak_release") && is.null(given$made)) given$made <- release$made
  answer <- ask("audit", c(problem$request, list(release = release_of(release, problem)), given))
  answer$sensitive <- as.data.frame(answer$sensitive)
  answer
}

#' Check a certificate
#'
#' Checks by exact products alone; no solver is called. There are two verifiers, written by the
#' same page independently of each other. With neither installed it is an error.
#' @param certificate Path of a certificate (.npz).
#' @param original Path of the problem (.jj), to compare with: \code{\link{publish}} writes it below
#'   \code{internal}.
#' @param verifier \code{"python"}: that of the program tablecloak; \code{"node"}: that of this
#'   package, run by Node.js. By default the first that is installed.
#' @param minutes Longest that the verifier in Python may take, by default one, and one for every 8 MiB
#'   of the certificate. That in JavaScript has no limit; for a large certificate it takes many minutes.
#' @return A list: \code{proved}, \code{verifier}, which of both was used, and \code{told}, what it
#'   said. Where it could not check to the end, it is an error that says why, and \code{proved} is no answer.
#' @examples
#' try(verify("no-such-certificate.npz"))
verify <- function(certificate, original = NULL, verifier = c("any", "python", "node"), minutes = NULL) {
  verifier <- match.arg(verifier)
  require_file(certificate, "certificate")
  if (!is.null(original)) require_file(original, "original")
  python <- program_of_user()
  has <- c(python = nzchar(Sys.which(python)) || file.exists(python), node = nzchar(Sys.which("node")))
  if (verifier == "any") verifier <- names(has)[has][1]
  if (is.na(verifier) || !has[[verifier]]) {
    stop("No verifier: install Node.js, or the program by pip install tablecloak.", call. = FALSE)
  }
  words <- path.expand(c(certificate, original))
  done <- if (verifier == "python") run(c("verify", words, if (!is.null(minutes)) c("--minutes", minutes))) else {
    run(c(system.file("verify.mjs", package = "tablecloak"), words), "node")
  }
  # A program that breaks off has the code of a refusal, or another, but no verdict.
  verdict <- grep("^(PROVED|REFUSED|NOT CLAIMED):", done$told, value = TRUE)[1]
  given_up <- grepl("the check takes more than|too many sums of too many digits", verdict)
  if (!done$status %in% c(0L, 1L, 3L) || is.na(verdict) || given_up) {
    stop("The certificate could not be checked, which is no refusal: ", reason(done$told), call. = FALSE)
  }
  message("Checked by the verifier in ", c(python = "Python", node = "JavaScript (Node)")[[verifier]], ".")
  list(proved = done$status == 0L, verifier = verifier, told = done$told)
}

#' Why a cell is hidden or changed
#'
#' @inheritParams audit
#' @param cells Codes in the order of the dimensions, such as \code{"N, 47"}.
#' @return Lines of text, which are secret.
#' @examples
#' cells <- data.frame(
#'   region = rep(c("N", "S", "Total"), each = 3), size = rep(c("a", "b", "Total"), 3),
#'   value = c(20, 50, 70, 30, 40, 70, 50, 90, 140), firms = c(9, 1, 10, 9, 9, 18, 18, 10, 28)
#' )
#' problem <- protect(cells, c("region", "size"), "value", rule("minimum-frequency", minimum = 3),
#'                    finished = TRUE, frequency = "firms")
#' if (nzchar(Sys.which("tablecloak"))) explain(problem, suppress(problem, time_limit = 5), "N, a")
explain <- function(problem, release, cells) {
  in_folder(function(folder) {
    write_cells(release_of(release, as_problem(problem)), file.path(folder, "release.csv"))
    told <- output_of(c("explain", write_job(problem, folder), file.path(folder, "release.csv"), cells))
    structure(told, class = "tablecloak_text")
  })
}

#' Compare ways to protect
#'
#' @inheritParams suppress
#' @param ... Options of the command compare by their names, such as \code{risk_limit = 0.1}, or
#'   \code{executor = "processes:2"} for two ways at once.
#' @return Data frame with one row for each way, and what an intruder and an analyst have of it.
#' @examples
#' cells <- data.frame(
#'   region = rep(c("N", "S", "Total"), each = 3), size = rep(c("a", "b", "Total"), 3),
#'   value = c(20, 50, 70, 30, 40, 70, 50, 90, 140), firms = c(9, 1, 10, 9, 9, 18, 18, 10, 28)
#' )
#' problem <- protect(cells, c("region", "size"), "value", rule("minimum-frequency", minimum = 3),
#'                    finished = TRUE, frequency = "firms")
#' \donttest{
#' if (nzchar(Sys.which("tablecloak"))) compare(problem, time_limit = 2)
#' }
compare <- function(problem, ...) {
  in_folder(function(folder) {
    out <- file.path(folder, "measures.csv")
    output_of(c("compare", write_job(problem, folder), "-o", out, words_of(list(...))))
    measures <- read_cells(out)
    measures$safe <- measures$safe == "True"
    measures
  })
}

#' Which tables must be protected together
#'
#' @param metadata Data frame with one row for each table to publish, as for
#'   \code{\link{analyse_metadata}}.
#' @param equations Data frame with \code{eq_name}, \code{eq_indicator}, \code{unit}.
#' @return Data frame with a row for each table to protect, and its cluster.
#' @examples
#' metadata <- data.frame(
#'   table_name = c("T1", "T2"), field = "2024", indicator = "turnover", spanning_1 = "region",
#'   hrc_spanning_1 = "", spanning_2 = c("size", "age"), hrc_spanning_2 = ""
#' )
#' if (nzchar(Sys.which("tablecloak"))) plan_publication(metadata)
plan_publication <- function(metadata, equations = NULL) analyse_metadata(metadata, equations)

#' Write what may be published
#'
#' Protects, attacks, and writes files that may leave (below \code{release}) apart from those that
#' must stay inside (below \code{internal}), certificates among them.
#' @inheritParams suppress
#' @param folder Folder for both.
#' @param ways List by the names of sections of a job file, with their keys; beside them keys of the
#'   job itself, such as \code{threads = 2} for as many tasks at once, or \code{register}, which holds a second
#'   release of the same records against the first. Paths are relative to \code{getwd()}; a data frame may
#'   stand in place of a file.
#' @return Paths of the files that may be published, invisibly.
#' @examples
#' cells <- data.frame(
#'   region = rep(c("N", "S", "Total"), each = 3), size = rep(c("a", "b", "Total"), 3),
#'   value = c(20, 50, 70, 30, 40, 70, 50, 90, 140), firms = c(9, 1, 10, 9, 9, 18, 18, 10, 28)
#' )
#' problem <- protect(cells, c("region", "size"), "value", rule("minimum-frequency", minimum = 3),
#'                    finished = TRUE, frequency = "firms")
#' if (nzchar(Sys.which("tablecloak"))) {
#'   basename(publish(problem, tempfile("results-"), list(suppression = list(time_limit = 5))))
#' }
publish <- function(problem, folder, ways = list(suppression = list())) {
  in_folder(function(place) {
    output_of(c("protect", write_job(problem, place, lapply(ways, or_empty)), "--out", folder))
    invisible(list.files(file.path(folder, "release"), recursive = TRUE, full.names = TRUE))
  })
}

#' Protect records
#'
#' @param data Data frame of records of people or firms.
#' @param method Such as \code{"microaggregate"}, \code{"pram"}, \code{"swap"} or
#'   \code{"local-suppression"}.
#' @param ... Options of the command \code{tablecloak records}, by their names, such as
#'   \code{column = c("wage", "hours")}, \code{k = 3}.
#' @return Data frame of protected records, in a random order.
#' @examples
#' people <- data.frame(wage = c(10, 20, 30, 40, 50, 60), hours = 1:6)
#' if (nzchar(Sys.which("tablecloak"))) {
#'   protect_records(people, "microaggregate", column = c("wage", "hours"), k = 3)
#' }
protect_records <- function(data, method, ...) {
  by_file(data, function(from, to) c("records", method, from, "-o", to, words_of(list(...))))
}

#' Make a table add up
#'
#' Makes a table with noise additive with least change.
#' @param data Data frame with all cells, totals included.
#' @param dimensions Names of the columns that span it.
#' @param ... Options of the command \code{tablecloak reconcile}, by their names, such as
#'   \code{value = "count"}, \code{lower = 0}, \code{whole = TRUE}.
#' @return Data frame with codes and values.
#' @examples
#' noisy <- data.frame(region = c("N", "S", "Total"), value = c(1, 2, 6))
#' if (nzchar(Sys.which("tablecloak"))) reconcile(noisy, "region")
reconcile <- function(data, dimensions, ...) {
  options <- c(list(by = dimensions), list(...))
  by_file(data, function(from, to) c("reconcile", from, "-o", to, words_of(options)))
}

#' Read and write tables
#'
#' @param path Path of a file. CSV is read with commas, semicolons (numbers then have decimal commas) or
#'   tabs between columns, and written with commas. A problem in .jj, .parquet or .gconfid is read by the program.
#' @param encoding Of a CSV file. What is not UTF-8 is refused without it; files of Windows are mostly
#'   \code{"windows-1252"}.
#' @return \code{read_cells} returns a data frame; codes such as 01 stay text.
#' @examples
#' path <- tempfile(fileext = ".csv")
#' write_cells(data.frame(code = c("01", "02"), value = c(1, NA)), path)
#' read_cells(path)
read_cells <- function(path, encoding = "UTF-8") {
  require_file(path, "path")
  if (!grepl("\\.csv$", path)) {
    return(in_folder(function(folder) {
      output_of(c("convert", path.expand(path), file.path(folder, "cells.csv")))
      read_cells(file.path(folder, "cells.csv"))
    }))
  }
  lines <- readLines(path, warn = FALSE)
  read <- iconv(lines, encoding, "UTF-8")
  if (anyNA(read)) {
    stop(path, ", line ", which(is.na(read))[1], ": this is no ", encoding, ". Say how the file is encoded, such as ",
         "read_cells(path, encoding = \"windows-1252\").", call. = FALSE)
  }
  begun <- gsub("\"[^\"]*\"", "", read[1])
  marks <- c(",", ";", "\t")
  mark <- marks[which.max(vapply(marks, function(one) sum(strsplit(begun, "")[[1]] == one), 0L))]
  text <- utils::read.csv(path, sep = mark, colClasses = "character", na.strings = "", check.names = FALSE,
                          fileEncoding = if (toupper(encoding) == "UTF-8") "UTF-8-BOM" else encoding)
  for (name in names(text)) text[[name]] <- numbers_or_codes(text[[name]], name, if (mark == ";") "," else ".")
  text
}

# What R would write otherwise than it stands there is a code. Between thousands stands no mark, since
# 1.234 could be either number.
numbers_or_codes <- function(column, name, decimal) {
  given <- column[!is.na(column)]
  both <- grepl(".", given, fixed = TRUE) + 2 * grepl(",", given, fixed = TRUE)
  is_written <- all(grepl("^[-+]?[0-9][0-9.,]*$", given))
  if (is_written && (any(both == 3) || length(setdiff(both, 0)) > 1)) {
    stop("Column ", name, ": numbers such as ", given[both == max(both)][1], " have a point and a comma. Write them ",
         "without a mark between thousands.", call. = FALSE)
  }
  number <- suppressWarnings(as.numeric(if (decimal == ",") sub(",", ".", column, fixed = TRUE) else column))
  if (anyNA(number[!is.na(column)]) || any(grepl("^0[0-9]", column))) column else number
}

#' @rdname read_cells
#' @param data Data frame.
write_cells <- function(data, path) {
  if (!grepl("\\.csv$", path)) stop("Tables are written as CSV: give a path that ends in .csv.", call. = FALSE)
  utils::write.csv(data, path, row.names = FALSE, na = "", fileEncoding = "UTF-8")
}

# -- what these functions share --------------------------------------------------------------------

# A dimension as a job file has it; a hierarchy that comes as a file is the attribute "file".
span_of <- function(given, columns) {
  if (!length(given)) return(empty())
  is_file <- function(one) is.character(one) && length(one) == 1 && grepl("\\.hrc$", one)
  if (is_file(given) && !given %in% columns) given <- list(hierarchy = given)
  if (is.character(given)) return(list(levels = as.list(given)))
  if (!all(names(given) %in% c("column", "hierarchy", "levels", "total")) || is.null(names(given))) {
    given <- list(hierarchy = given)
  }
  tree <- given$hierarchy
  if (!is.null(given$levels)) given$levels <- as.list(given$levels)
  is_other <- is.character(tree) && length(tree) == 1 && file.exists(tree) && nzchar(tools::file_ext(tree))
  if (is_file(tree) || is_other) return(structure(given, file = text_of(tree)))
  if (is.data.frame(tree)) return(structure(given, file = tree))
  if (is.list(tree)) given$hierarchy <- codes_of(tree)
  given
}

# Data as they are sent: each column once, and each number as it is here.
complete <- function(data) {
  twice <- names(data)[duplicated(names(data))]
  if (length(twice)) stop("There are two columns ", twice[1], ". Rename one of them.", call. = FALSE)
  for (name in names(data)) if (is.numeric(data[[name]])) {
    numbers <- data[[name]]
    if (inherits(numbers, "integer64")) numbers <- as.numeric(jsonlite::fromJSON(as_json(numbers)))
    odd <- function(which, what) if (any(which, na.rm = TRUE)) {
      stop("Column ", name, ", row ", which(which)[1], ": the number ", what, call. = FALSE)
    }
    odd(is.infinite(numbers), "is not finite. Correct it.")
    odd(abs(numbers) >= 2^53, "is 2^53 or more, where R rounds. Give a larger unit, such as thousands; codes as text.")
  }
  data
}

require_file <- function(path, argument) {
  if (!is.character(path) || length(path) != 1) {
    stop(argument, " is the path of a file, not a table or a problem.", call. = FALSE)
  }
  if (!file.exists(path)) stop("There is no file ", path, ".", call. = FALSE)
}

# Nested codes: a single one is a list too, which it would not stay in JSON.
codes_of <- function(given) {
  if (is.null(names(given))) as.list(as.character(unlist(given))) else lapply(given, codes_of)
}

empty <- function() structure(list(), names = character())

or_empty <- function(given) if (length(given)) given else empty()

options_of <- function(...) or_empty(list(...))

one_way <- function(problem, call, ...) {
  answer <- ask(call, c(as_problem(problem)$request, list(...)))
  # Where nothing is proved nothing is said of safety.
  if (is.null(answer$is_safe)) answer$is_safe <- NA
  tables <- intersect(c("release", "cells", "sensitive"), names(answer))
  answer[tables] <- lapply(answer[tables], function(table) if (!is.null(table)) as.data.frame(table))
  structure(answer, class = "tablecloak_release")
}

print.tablecloak_problem <- function(x, ...) {
  data <- x$request$files[[1]]
  cat("Table by ", paste(names(x$request$dimensions), collapse = ", "), ", of ", nrow(data), " rows\n",
      sep = "")
  invisible(x)
}

print.tablecloak_release <- function(x, ...) {
  verdict <- if (isFALSE(x$is_safe)) "NOT SAFE: do not publish." else if (nzchar(x$promise)) x$promise else
    "Made as asked; nothing is proved of it."
  notes <- unlist(x$notes)
  writeLines(c(strwrap(verdict), x$summary, if (length(notes)) paste("Note:", notes)))
  invisible(x)
}

print.tablecloak_text <- function(x, ...) {
  writeLines(x)
  invisible(x)
}

as.data.frame.tablecloak_release <- function(x, ...) {
  if (is.null(x$release)) stop("It is not proved safe, so that it has no release.", call. = FALSE)
  x$release
}

# A private folder for one question; it is removed with all that is in it.
in_folder <- function(work) {
  folder <- tempfile("tablecloak-")
  dir.create(folder, mode = "0700")
  on.exit(unlink(folder, recursive = TRUE))
  work(folder)
}

by_file <- function(data, words) {
  in_folder(function(folder) {
    from <- file.path(folder, "data.csv")
    to <- file.path(folder, "result.csv")
    write_cells(data, from)
    output_of(words(from, to))
    read_cells(to)
  })
}

# Run the program; what it says is returned, or is the error.
output_of <- function(words) {
  ended <- run(words)
  if (ended$status != 0L) stop(in_r(reason(ended$told)), call. = FALSE)
  ended$told
}

# list(k = 3, column = c("a", "b")) as --k 3 --column a --column b.
words_of <- function(options) {
  unlist(lapply(names(options), function(name) {
    flag <- paste0("--", gsub("_", "-", name))
    given <- options[[name]]
    if (isTRUE(given)) return(flag)
    if (isFALSE(given)) NULL else as.vector(rbind(flag, as.character(given)))
  }))
}

# A job file beside its data, with sections of ways to protect.
write_job <- function(problem, folder, ways = list(suppression = empty())) {
  request <- as_problem(problem)$request
  request <- located(c(request[setdiff(names(request), names(ways))], ways), absolute)
  for (name in names(request$files)) {
    given <- request$files[[name]]
    path <- file.path(folder, name)
    if (is.data.frame(given)) write_cells(given, path) else writeLines(enc2utf8(given), path, useBytes = TRUE)
  }
  sections <- request[setdiff(names(request), "files")]
  lines <- paste(names(sections), "=", vapply(sections, toml, ""))
  writeLines(enc2utf8(lines), file.path(folder, "job.toml"), useBytes = TRUE)
  file.path(folder, "job.toml")
}

toml <- function(given) {
  if (is.list(given) && !is.null(names(given))) {
    if (!length(given)) return("{}")
    keys <- vapply(names(given), function(key) as.character(as_json(key)), "")
    return(paste0("{", paste(keys, "=", vapply(given, toml, ""), collapse = ", "), "}"))
  }
  if (is.list(given)) return(paste0("[", paste(vapply(given, toml, ""), collapse = ", "), "]"))
  as.character(as_json(given))
}
