package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestPairAgreementGolden holds the measures to a published table and to each other.
func TestPairAgreementGolden(t *testing.T) {
	var first, second, cluster []string
	add := func(n int, a, b string) {
		for range n {
			first, second, cluster = append(first, a), append(second, b), append(cluster, fmt.Sprint(len(cluster)))
		}
	}
	add(118, "-", "-")
	add(5, "+", "-")
	add(2, "-", "+")
	r, err := PairAgreement(first, second, cluster, AgreementOptions{Seed: 1, Resamples: 400})
	if err != nil {
		t.Fatal(err)
	}
	// Gwet (2008), Table 2: raw agreement .944, kappa -.0234, AC1 .9408.
	for _, c := range []struct {
		name      string
		got, want float64
	}{{"raw", r.Raw.Value, 0.944}, {"kappa", r.Kappa.Value, -0.0234}, {"AC1", r.AC1.Value, 0.9408}} {
		if math.Abs(c.got-c.want) > 5e-5 {
			t.Errorf("%s = %.5f, want %.4f", c.name, c.got, c.want)
		}
	}
	var units [][]string
	for u := range first {
		units = append(units, []string{first[u], second[u]})
	}
	alpha, err := KrippendorffLabels(units, AlphaOptions{Resamples: 10})
	if err != nil || math.Abs(alpha.Alpha-r.Alpha.Value) > 1e-12 {
		t.Errorf("alpha %v, KrippendorffLabels %v, %v", r.Alpha.Value, alpha.Alpha, err)
	}
	_, table, _ := Confusion(first, second)
	kappa, err := CohenKappa(table, Unweighted, 0)
	if err != nil || math.Abs(kappa.Kappa-r.Kappa.Value) > 1e-12 {
		t.Errorf("kappa %v, CohenKappa %v, %v", r.Kappa.Value, kappa.Kappa, err)
	}
	if i := r.AC1.Interval; !i.Defined || i.Lo >= r.AC1.Value || i.Hi <= r.AC1.Value {
		t.Errorf("interval of AC1: %+v", i)
	}

	same, err := PairAgreement([]string{"a", "a", "a"}, []string{"a", "a", "a"}, []string{"1", "2", "3"}, AgreementOptions{})
	if err != nil || !same.Raw.Defined || same.Kappa.Defined || same.AC1.Defined || same.Alpha.Defined || same.Alpha.Reason == "" {
		t.Errorf("agreement without variation: %+v, %v", same, err)
	}
	if none, err := PairAgreement(nil, nil, nil, AgreementOptions{}); err != nil || none.Raw.Defined || none.Raw.Interval.Defined {
		t.Errorf("agreement of nobody: %+v, %v", none, err)
	}
	if _, err := PairAgreement([]string{"a"}, nil, []string{"1"}, AgreementOptions{}); err == nil {
		t.Error("lists of different lengths pass")
	}
}

// TestAgreementCoverage draws items of twelve classes that two raters each get right with a chance, else label by how frequent
// the classes are: then Krippendorff's alpha is that chance squared. Its bootstrap intervals cover it.
func TestAgreementCoverage(t *testing.T) {
	const draws, alpha = 300, 0.72
	share := []float64{.24, .18, .14, .1, .08, .06, .05, .05, .04, .03, .02, .01}
	label := func(r *rand.Rand) string {
		u := r.Float64()
		for k, p := range share {
			if u -= p; u < 0 {
				return string(rune('a' + k))
			}
		}
		return "a"
	}
	r := rand.New(rand.NewPCG(3, 5))
	for _, n := range []int{60, 120} {
		covered := 0
		for i := range draws {
			var first, second, cluster []string
			for k := range n {
				x, y := label(r), label(r)
				truth := label(r)
				if r.Float64() < math.Sqrt(alpha) {
					x = truth
				}
				if r.Float64() < math.Sqrt(alpha) {
					y = truth
				}
				first, second, cluster = append(first, x), append(second, y), append(cluster, string(rune('0'+k)))
			}
			a, err := PairAgreement(first, second, cluster, AgreementOptions{Resamples: 300, Seed: uint64(i + 1)})
			if err != nil {
				t.Fatal(err)
			}
			if a.Alpha.Interval.Lo <= alpha && alpha <= a.Alpha.Interval.Hi {
				covered++
			}
		}
		c := float64(covered) / draws
		t.Logf("%d items: %.3f", n, c)
		if c < 0.92 {
			t.Errorf("intervals of alpha from %d items cover it in %.3f; the bar is .92", n, c)
		}
	}
}

// TestPostStratifiedCoverage draws audits of a classifier that errs: the corrected share covers the truth, the raw
// one does not.
func TestPostStratifiedCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, m := range []int{60, 100, 150} {
		const draws, population, prevalence, sensitivity, specificity = 2000, 400, 0.25, 0.90, 0.85
		covered, raw := 0, 0
		for range draws {
			var strata [2]AuditStratum
			var members [2][]bool
			for range population {
				truth := r.Float64() < prevalence
				said := r.Float64() < sensitivity
				if !truth {
					said = r.Float64() >= specificity
				}
				g := 0
				if said {
					g = 1
				}
				strata[g].Size++
				members[g] = append(members[g], truth)
			}
			for g := range strata {
				r.Shuffle(len(members[g]), func(i, j int) { members[g][i], members[g][j] = members[g][j], members[g][i] })
				for _, truth := range members[g][:min(m/2, len(members[g]))] {
					strata[g].Audited++
					if truth {
						strata[g].Positive++
					}
				}
			}
			res, err := PostStratified(strata[:], PostStratifiedOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if res.Interval.Lo <= prevalence && prevalence <= res.Interval.Hi {
				covered++
			}
			if i := Wilson(strata[1].Size, population, 0); i.Lo <= prevalence && prevalence <= i.Hi {
				raw++
			}
		}
		c := float64(covered) / draws
		t.Logf("m %d: corrected %.3f, raw %.3f", m, c, float64(raw)/draws)
		if c < 0.93 || c > 0.97 || float64(raw)/draws > 0.2 {
			t.Errorf("audits of %d: the corrected share covers the truth in %.3f, the raw one in %.3f", m, c, float64(raw)/draws)
		}
	}
}

func TestPostStratifiedEdges(t *testing.T) {
	full, err := PostStratified([]AuditStratum{{10, 10, 4}, {10, 10, 0}}, PostStratifiedOptions{Finite: true})
	if err != nil || full.Share != 0.2 || full.SE != 0 || full.Interval.Lo != 0.2 || full.Interval.Hi != 0.2 {
		t.Errorf("a full audit of these units: %+v, %v", full, err)
	}
	part, err := PostStratified([]AuditStratum{{10, 5, 5}, {10, 0, 0}}, PostStratifiedOptions{})
	if err != nil || part.Unaudited != 0.5 || part.Interval.Hi != 1 || part.Interval.Lo > 0.5 {
		t.Errorf("a stratum without an audited unit: %+v, %v", part, err)
	}
	zero, err := PostStratified([]AuditStratum{{20, 10, 0}}, PostStratifiedOptions{})
	if err != nil || zero.Share != 0 || zero.Interval.Lo != 0 || !(zero.Interval.Hi > 0.05) {
		t.Errorf("no audited unit has the label: %+v, %v", zero, err)
	}
	if none, err := PostStratified([]AuditStratum{{20, 0, 0}}, PostStratifiedOptions{}); err != nil || none.Interval.Defined {
		t.Errorf("nothing audited: %+v, %v", none, err)
	}
	if _, err := PostStratified([]AuditStratum{{1, 2, 0}}, PostStratifiedOptions{}); err == nil {
		t.Error("more audited than there are")
	}
}
