# Objects of other packages in place of a problem or a release: sdcTable's and rtauargus'.

#' Problems of other packages
#'
#' Takes what sdcTable or rtauargus hold of a table, for all functions of this package that take a
#' problem. They also take such objects themselves.
#' @param x \itemize{
#'   \item A problem of sdcTable (\code{makeProblem}), with its unsafe cells. Cells that it must
#'     publish are published. Its protection levels are not taken: it gives every cell 1.
#'   \item A list with arguments of \code{\link{tab_rtauargus}}, by their names. They have its
#'     defaults, and those that say nothing of the problem are left out. Unsafe cells are those of
#'     \code{secret_var}.
#' }
#' @param ... Further keys of the section data of a job file, such as \code{flags_range}: protection
#'   level of the unsafe cells, in per cent; by default 20, or for a list its \code{ip}. For sdcTable also \code{value}, by default its first
#'   numeric variable, or counts.
#' @return A problem, as of \code{\link{protect}}.
#' @examples
#' cells <- data.frame(
#'   region = rep(c("N", "S", "Total"), each = 3), size = rep(c("a", "b", "Total"), 3),
#'   value = c(20, 50, 70, 30, 40, 70, 50, 90, 140), secret = c(TRUE, rep(FALSE, 8))
#' )
#' as_problem(list(tabular = cells, explanatory_vars = c("region", "size"), secret_var = "secret"))
as_problem <- function(x, ...) UseMethod("as_problem")

as_problem.default <- function(x, ...) {
  stop("This is no problem. Make one by protect(), or give one of sdcTable or arguments of tab_rtauargus.",
       call. = FALSE)
}

as_problem.tablecloak_problem <- function(x, ...) x

as_problem.list <- function(x, ...) {
  lacking <- setdiff(c("tabular", "explanatory_vars"), names(x))
  if (length(lacking)) stop("The list lacks ", paste(lacking, collapse = " and "), ".", call. = FALSE)
  known <- c(setdiff(names(formals(tab_rtauargus)), "..."), "time_limit", "tolerance", unused)
  for (name in setdiff(names(x), known)) {
    near <- known[which.min(utils::adist(name, known))]
    stop("tab_rtauargus has no argument ", name, ". Did you mean ", near, "?", call. = FALSE)
  }
  if (!is.null(x$safety_rules)) {
    stop("Unsafe cells are taken from secret_var. With safety_rules call tab_rtauargus.", call. = FALSE)
  }
  if (!is.null(x$cost_var)) {
    stop("Costs are of the search. Leave cost_var out, and call suppress(problem, cost = \"", x$cost_var,
         "\").", call. = FALSE)
  }
  defaults <- lapply(formals(tab_rtauargus)[c("totcode", "value", "freq", "ip")], eval)
  # A table without counts is a problem as well.
  if (!defaults$freq %in% names(x$tabular)) defaults$freq <- NULL
  x <- c(x, defaults[setdiff(names(defaults), names(x))])
  names <- x$explanatory_vars
  total <- x$totcode
  if (is.null(names(total))) total <- stats::setNames(rep_len(total, length(names)), names)
  keys <- list(flags_range = x$ip, tolerance = if (is.null(x$tolerance)) 1 else x$tolerance,
               largest = as.list(x$maxscore))
  finished(as.data.frame(x$tabular), stats::setNames(as.list(total[names]), names), texts(x$hrc), x$value,
           flags = x$secret_var, frequency = x$freq, more = utils::modifyList(keys, list(...)))
}

as_problem.sdcProblem <- function(x, value = NULL, ...) {
  cells <- cells_of(x)
  about <- methods::slot(methods::slot(x, "dimInfo"), "dimInfo")
  names(about) <- vapply(about, methods::slot, "", "vName")
  if (is.null(value)) value <- setdiff(names(cells), c(names(about), "status"))[1]
  totals <- lapply(about, function(one) {
    methods::slot(one, "codesOriginal")[methods::slot(one, "levels") == 1]
  })
  trees <- lapply(about, function(one) {
    codes <- methods::slot(one, "codesOriginal")
    depth <- methods::slot(one, "levels") - 2
    # A code with a single part is the same as that part, and no cell has it.
    kept <- depth >= 0 & !codes %in% methods::slot(one, "dups")
    paste0(paste0(strrep("@", depth[kept]), codes[kept], collapse = "\n"), "\n")
  })
  data <- cells[c(names(about), value)]
  data$secret <- cells$status == "u"
  published <- cells[cells$status == "z" & cells[[value]] != 0, names(about), drop = FALSE]
  rules <- if (nrow(published)) {
    rows <- lapply(seq_len(nrow(published)), function(row) as.list(published[row, , drop = FALSE]))
    list(list(rule = "manual", status = "frozen", cells = rows))
  }
  finished(data, totals, trees, value, flags = "secret", rules = rules, more = list(...))
}

# A problem of a finished table: totals and texts of .hrc files by the names of dimensions; more keys of data.
finished <- function(data, totals, trees, value, flags, frequency = NULL, rules = NULL, more = list()) {
  dimensions <- stats::setNames(lapply(names(totals), function(name) {
    c(list(total = totals[[name]]), if (!is.null(trees[[name]])) list(hierarchy = paste0(name, ".hrc")))
  }), names(totals))
  files <- trees
  if (length(files)) names(files) <- paste0(names(trees), ".hrc")
  about <- c(list(file = "data.csv", kind = "table", value = value, flags = flags, frequency = frequency), more)
  request <- list(
    data = about[lengths(about) > 0], dimensions = dimensions, files = c(list(data.csv = data), files)
  )
  if (length(rules)) request$rules <- rules
  structure(list(request = request), class = "tablecloak_problem")
}

# The cells of a problem of sdcTable: their codes, values and statuses.
cells_of <- function(x) {
  about <- methods::slot(x, "dimInfo")
  instance <- methods::slot(x, "problemInstance")
  ids <- methods::slot(instance, "strID")
  codes <- Map(function(one, at) {
    found <- match(substr(ids, at[1], at[2]), methods::slot(one, "codesDefault"))
    methods::slot(one, "codesOriginal")[found]
  }, methods::slot(about, "dimInfo"), methods::slot(about, "strInfo"))
  names(codes) <- methods::slot(about, "vNames")
  data.frame(codes, as.list(methods::slot(instance, "numVars")), Freq = methods::slot(instance, "Freq"),
             status = methods::slot(instance, "sdcStatus"), check.names = FALSE)
}

# A release of this problem, whoever made it, as the program reads it: codes with a status or a value.
release_of <- function(release, problem) {
  if (inherits(release, "sdcProblem")) {
    cells <- cells_of(release)
    hidden <- cells$status %in% c("u", "x")
  } else {
    cells <- as.data.frame(release)
    # The last pass of tab_multi_manager, or the status of tab_rtauargus.
    last <- utils::tail(grep("^is_secret_[0-9]+$", names(cells), value = TRUE), 1)
    if (!length(last) && is.null(cells$Status)) return(cells)
    hidden <- if (length(last)) as.logical(cells[[last]]) else cells$Status != "V"
  }
  cells <- cells[names(problem$request$dimensions)]
  cells$status <- ifelse(hidden, "suppressed", "published")
  cells
}
