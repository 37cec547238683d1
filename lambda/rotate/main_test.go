package main

import (
	"log/slog"
	"strings"
	"testing"
)

func TestStart(t *testing.T) {
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	environment := map[string]string{
		"SPENDCAP_ORIGIN_SECRET_ID": "arn:aws:secretsmanager:us-east-1:000000000000:secret:origin-AbCdEf",
		"SPENDCAP_DISTRIBUTION_ID":  "E1EXAMPLE",
		"SPENDCAP_ORIGIN_IDS":       "spendcap-api,another",
		"SPENDCAP_EDGE_URL":         "https://d.cloudfront.net/api/cap",
		"SPENDCAP_SIDE_DOOR_URL":    "https://a.execute-api.us-east-1.amazonaws.com/api/cap",
	}
	log := slog.New(slog.DiscardHandler)
	get := func(without string) func(string) string {
		return func(name string) string {
			if name == without {
				return ""
			}
			return environment[name]
		}
	}
	for _, without := range []string{"", "SPENDCAP_SIDE_DOOR_URL"} {
		if _, err := start(t.Context(), log, get(without)); err != nil {
			t.Errorf("without %q: %v", without, err)
		}
	}
	for name, field := range map[string]string{
		"SPENDCAP_ORIGIN_SECRET_ID": "SecretARN",
		"SPENDCAP_DISTRIBUTION_ID":  "DistributionID",
		"SPENDCAP_ORIGIN_IDS":       "OriginIDs",
		"SPENDCAP_EDGE_URL":         "EdgeURL",
	} {
		if _, err := start(t.Context(), log, get(name)); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}
