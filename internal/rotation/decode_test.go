package rotation_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudfront"
	"github.com/aws/aws-sdk-go-v2/service/cloudfront/types"
)

// decode reads a configuration as the SDK reads it.
func decode(t testing.TB, config string) *types.DistributionConfig {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(config)) }))
	defer s.Close()
	id := distributionID
	out, err := cloudClient(s.URL, 1).GetDistributionConfig(t.Context(), &cloudfront.GetDistributionConfigInput{Id: &id})
	ok(t, err)
	return out.DistributionConfig
}

// difference shows both if they differ.
func difference(a, b *types.DistributionConfig) string {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if string(x) == string(y) {
		return ""
	}
	return string(x) + "\n" + string(y)
}
