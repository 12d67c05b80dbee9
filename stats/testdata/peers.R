# Times R's tests on the tasks of bench_test.go, and counts what each finds in the 325 pairs of the manual's example.
# Least of several repeats, in seconds. From the root of the repository:
#
#   apt-get install r-base-core r-cran-coin r-cran-exactranktests
#   Rscript stats/testdata/peers.R
suppressMessages({library(coin); library(exactRankTests)})
options(warn = -1)

least <- function(f, repeats) {
  f()
  min(replicate(repeats, { t <- Sys.time(); f(); as.numeric(difftime(Sys.time(), t, units = "secs")) }))
}
show <- function(seconds, what) cat(sprintf("%.2e  %s\n", seconds, what))

set.seed(20)
d <- sample(-15:15, 20, TRUE)
zero <- rep(0, 20)
x <- sample(0:101, 20, TRUE)
sets <- sapply(0:25, function(i) sample(0:(9 + 3 * i), 20, TRUE))
pairs <- combn(26, 2)

coin.p <- function(d) if (all(d == 0)) 1 else as.numeric(pvalue(wilcoxsign_test(d ~ rep(0, length(d)), distribution = "exact", zero.method = "Wilcoxon")))
exact.p <- function(d) if (all(d == 0)) 1 else wilcox.exact(d, exact = TRUE)$p.value
default.p <- function(d) if (all(d == 0)) 1 else wilcox.test(d)$p.value
all.pairs <- function(sets, test) p.adjust(apply(pairs, 2, function(v) test(sets[, v[1]] - sets[, v[2]])), "holm")

cat(R.version.string, "coin", as.character(packageVersion("coin")), "exactRankTests", as.character(packageVersion("exactRankTests")), "\n")
show(least(function() coin.p(d), 20), "signed rank, n = 20 with ties: coin, exact")
show(least(function() exact.p(d), 100), "signed rank, n = 20 with ties: exactRankTests, exact")
show(least(function() default.p(d), 100), "signed rank, n = 20 with ties: stats, its default (normal)")
show(least(function() all.pairs(sets, coin.p), 2), "325 pairs of 26 x 20 and Holm: coin, exact")
show(least(function() all.pairs(sets, exact.p), 5), "325 pairs of 26 x 20 and Holm: exactRankTests, exact")
show(least(function() all.pairs(sets, default.p), 5), "325 pairs of 26 x 20 and Holm: stats, its default (normal)")
show(least(function() { m <- replicate(9999, mean(sample(x, replace = TRUE))); quantile(m, c(.025, .975)) }, 5), "percentile interval of a mean, n = 20, 9999 resamples")

runs <- read.csv("cmd/stint/testdata/manual/paper.csv")
runs <- runs[grepl("detailed", runs$config), ]
table <- with(runs, tapply(turns_passed, list(scenario, config), identity))
for (test in list(list("coin, exact", coin.p), list("exactRankTests, exact", exact.p), list("stats, its default (normal)", default.p))) {
  cat(sprintf("paper.csv: %d of 325 pairs significant after Holm: %s\n", sum(all.pairs(table, test[[2]]) <= 0.05), test[[1]]))
}
h <- table[, "m1+h1/detailed/r10"] - table[, "m1+h2/detailed/r10"]
cat(sprintf("paper.csv: m1+h1 - m1+h2: coin %.6g, exactRankTests %.6g, stats %.6g\n", coin.p(h), exact.p(h), default.p(h)))
