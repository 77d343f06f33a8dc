# Does R send what requests.json says, and does it return what an answer holds? No program is called.
library(tablecloak)

given <- jsonlite::fromJSON("requests.json", simplifyVector = FALSE)
data <- jsonlite::fromJSON("requests.json")$data
for (name in names(data)) assign(name, as.data.frame(data[[name]]))
hrc_file <- tempfile(fileext = ".hrc")
writeLines(c("N", "S"), hrc_file)

by_name <- function(x) {
  if (is.list(x) && !is.null(names(x))) x <- x[order(names(x))]
  if (is.list(x)) lapply(x, by_name) else x
}
same <- function(one, other) isTRUE(all.equal(by_name(one), by_name(other)))
as_sent <- function(x) jsonlite::fromJSON(tablecloak:::as_json(x), simplifyVector = FALSE)

for (name in names(given$arguments)) {
  stopifnot(identical(names(formals(name)), unlist(given$arguments[[name]])))
}

for (each in given$calls) {
  sent <- NULL
  recorded <- function(call, request) {
    sent <<- list(call = call, request = as_sent(request))
    jsonlite::fromJSON(jsonlite::toJSON(each$answer, auto_unbox = TRUE, null = "null", digits = NA))
  }
  utils::assignInNamespace("ask", recorded, "tablecloak")
  result <- eval(parse(text = each[["r"]]))
  cat(each$call, "\n")
  stopifnot(identical(sent$call, each$call))
  if (!same(sent$request, each$request)) {
    print(all.equal(by_name(sent$request), by_name(each$request)))
    stop("R sends another request than requests.json says: ", each$call)
  }
  stopifnot(isTRUE(all.equal(as.vector(result), unlist(each$result))))
}

# Arguments that tablecloak does not have are sent as well, so that it can say so.
utils::assignInNamespace("ask", function(call, request) list(sent = names(request)), "tablecloak")
stopifnot("totcod" %in% names(tablecloak:::others(totcod = "x", verbose = TRUE)))
stopifnot(!"verbose" %in% names(tablecloak:::others(totcod = "x", verbose = TRUE)))
