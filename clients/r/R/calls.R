# The five functions. Arguments and their defaults are those of rtauargus 1.3.5; all of them are
# checked by tablecloak, which also says what is wrong with them.

tab_rtauargus <- function(
    tabular,
    explanatory_vars,
    files_name = NULL,
    dir_name = NULL,
    totcode = getOption("rtauargus.totcode", "Total"),
    hrc = NULL,
    secret_var = NULL,
    secret_no_pl = NULL,
    cost_var = NULL,
    value = "value",
    freq = "freq",
    ip = 10,
    maxscore = NULL,
    suppress = "MOD(1,5,1,0,0)",
    safety_rules = paste0("MAN(", ip, ")"),
    summary_secret = FALSE,
    show_batch_console = FALSE,
    output_type = 4,
    output_options = "",
    unif_labels = TRUE,
    split_tab = FALSE,
    nb_tab_option = "smart",
    limit = 14700,
    ...
) {
  answer <- ask("tab_rtauargus", c(
    list(
      tabular = as.data.frame(tabular), explanatory_vars = explanatory_vars,
      totcode = named(totcode), hrc = texts(hrc), secret_var = secret_var,
      secret_no_pl = secret_no_pl, cost_var = cost_var, value = value, freq = freq, ip = ip,
      maxscore = maxscore, suppress = suppress, safety_rules = safety_rules,
      summary_secret = summary_secret, output_type = output_type,
      output_options = output_options, unif_labels = unif_labels, split_tab = split_tab,
      nb_tab_option = nb_tab_option, limit = limit
    ),
    others(...)
  ))
  mask <- as.data.frame(tabular)
  mask$Status <- answer$Status
  if (!summary_secret) return(mask)
  list(mask = mask, stats = as.data.frame(answer$stats))
}

tab_multi_manager <- function(
    list_tables,
    list_explanatory_vars,
    dir_name = NULL,
    hrc = NULL,
    alt_hrc = NULL,
    totcode = getOption("rtauargus.totcode", "Total"),
    alt_totcode = NULL,
    value = "value",
    freq = "freq",
    secret_var = "is_secret_prim",
    cost_var = NULL,
    suppress = "MOD(1,5,1,0,0)",
    ip_start = 10,
    ip_end = 0,
    num_iter_max = 10,
    summary_secret = FALSE,
    split_tab = FALSE,
    nb_tab_option = "smart",
    limit = 14700,
    ...
) {
  if (is.null(names(list_tables))) {
    names(list_tables) <- names(list_explanatory_vars) <- paste0("tab", seq_along(list_tables))
  }
  list_tables <- lapply(list_tables, as.data.frame)
  answer <- ask("tab_multi_manager", c(
    list(
      list_tables = list_tables, list_explanatory_vars = list_explanatory_vars,
      hrc = texts(hrc), alt_hrc = if (!is.null(alt_hrc)) lapply(alt_hrc, texts),
      totcode = named(totcode),
      alt_totcode = if (!is.null(alt_totcode)) lapply(alt_totcode, named), value = value, freq = freq,
      secret_var = secret_var, cost_var = cost_var, suppress = suppress, ip_start = ip_start,
      ip_end = ip_end, num_iter_max = num_iter_max, summary_secret = summary_secret,
      split_tab = split_tab, nb_tab_option = nb_tab_option, limit = limit
    ),
    others(...)
  ))
  for (name in names(list_tables)) {
    list_tables[[name]]$is_secret_1 <- answer$tables[[name]]$is_secret_1
  }
  if (!summary_secret) return(list_tables)
  c(list_tables, list(stats = lapply(answer$stats, as.data.frame)))
}

analyse_metadata <- function(df_metadata, df_eq_indicator = NULL, verbose = FALSE) {
  answer <- ask("analyse_metadata", list(
    df_metadata = as.data.frame(df_metadata), df_eq_indicator = df_eq_indicator, verbose = verbose
  ))
  tables <- as.data.frame(answer$result)
  if (!verbose) return(tables)
  list(df_tab_to_treat = tables, published = as.data.frame(answer$published),
       summary = answer$summary, notes = answer$notes)
}

write_hrc2 <- function(
    corr_table,
    file_name = NULL,
    sort_table = FALSE,
    rev = FALSE,
    hier_lead_string = getOption("rtauargus.hierleadstring", "@"),
    adjust_unique_roots = TRUE,
    add_char = "ZZZ"
) {
  if (is.null(file_name)) file_name <- deparse(substitute(corr_table))
  path <- if (grepl("\\.hrc$", file_name)) file_name else paste0(file_name, ".hrc")
  answer <- ask("write_hrc2", list(
    corr_table = as.data.frame(corr_table), sort_table = sort_table, rev = rev,
    hier_lead_string = hier_lead_string, adjust_unique_roots = adjust_unique_roots,
    add_char = add_char
  ))
  dir.create(dirname(path), recursive = TRUE, showWarnings = FALSE)
  writeLines(enc2utf8(answer$lines), path, useBytes = TRUE)
  invisible(path)
}

run_arb <- function(
    arb_filename,
    is_tabular = getOption("rtauargus.is_tabular", TRUE),
    missing_dir = getOption("rtauargus.missing_dir", "stop"),
    tauargus_exe = getOption("rtauargus.tauargus_exe"),
    logbook = NULL,
    show_batch_console = getOption("rtauargus.show_batch_console", FALSE),
    verbose = TRUE,
    import = getOption("rtauargus.import", FALSE),
    ...
) {
  done <- run(c("argus", arb_filename, "--out", dirname(arb_filename)))
  if (!is.null(logbook)) writeLines(done$told, logbook)
  # Code 3: every table is proved safe, and the log names what was not applied.
  if (!done$status %in% c(0L, 3L)) stop(reason(done$told), call. = FALSE)
  if (verbose) writeLines(done$told)
  if (!import) return(invisible(NULL))
  written <- trimws(grep("^    .*\\.csv$", done$told, value = TRUE))
  # Files for the office alone lie in a folder of their own.
  written <- written[basename(dirname(written)) != "internal"]
  names(written) <- basename(written)
  lapply(written, utils::read.csv, header = FALSE, stringsAsFactors = FALSE)
}
