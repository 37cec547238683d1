package infra_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// property is one thing that a deployment is held to: what a resource of a kind has at
// a path.
type property struct {
	kind, name, path string
	want             any
}

func (p property) check(t template) error {
	_, r, err := t.one(p.kind, p.name)
	if err != nil {
		return err
	}
	got, ok := get(r, p.path)
	if !ok {
		return fmt.Errorf("%s %s has no %s", p.kind, p.name, p.path)
	}
	if !same(got, p.want) {
		text, _ := json.Marshal(got)
		return fmt.Errorf("%s %s: %s is %s, want %v", p.kind, p.name, p.path, text, p.want)
	}
	return nil
}

const (
	distribution = "AWS::CloudFront::Distribution"
	function     = "AWS::Lambda::Function"
	stage        = "AWS::ApiGatewayV2::Stage"
	table        = "AWS::DynamoDB::Table"
	bucket       = "AWS::S3::Bucket"
	alarm        = "AWS::CloudWatch::Alarm"
	config       = "Properties/DistributionConfig/"
	managedNone  = "4135ea2d-6df8-44a3-9df3-4b5a84be39ad" // CachingDisabled
	managedHost  = "b689b0a8-53d0-40ab-baf2-68738e2966ac" // AllViewerExceptHostHeader
)

var properties = []property{
	{distribution, "Edge", config + "CacheBehaviors/0/PathPattern", "/api/*"},
	{distribution, "Edge", config + "CacheBehaviors/0/TargetOriginId", "spendcap-api"},
	{distribution, "Edge", config + "CacheBehaviors/0/CachePolicyId", managedNone},
	{distribution, "Edge", config + "CacheBehaviors/0/OriginRequestPolicyId", managedHost},
	{distribution, "Edge", config + "CacheBehaviors/0/ViewerProtocolPolicy", "https-only"},
	{distribution, "Edge", config + "CacheBehaviors/0/AllowedMethods", []string{"GET", "HEAD", "OPTIONS", "PUT", "PATCH", "POST", "DELETE"}},
	{distribution, "Edge", config + "DefaultCacheBehavior/ViewerProtocolPolicy", "redirect-to-https"},
	{distribution, "Edge", config + "DefaultCacheBehavior/AllowedMethods", []string{"GET", "HEAD"}},
	{pageHeaders, "PageHeaders", secured + "StrictTransportSecurity/AccessControlMaxAgeSec", 31536000},
	{distribution, "Edge", config + "DefaultRootObject", "index.html"},
	{distribution, "Edge", config + "Enabled", true},
	{distribution, "Edge", config + "IPV6Enabled", true},
	{distribution, "Edge", config + "HttpVersion", "http2and3"},
	{distribution, "Edge", config + "Origins/1/Id", "spendcap-api"},
	{distribution, "Edge", config + "Origins/1/CustomOriginConfig/OriginReadTimeout", 35}, // above the HTTP API's 30 s
	{distribution, "Edge", config + "Origins/1/CustomOriginConfig/OriginProtocolPolicy", "https-only"},
	{distribution, "Edge", config + "Origins/1/CustomOriginConfig/OriginSSLProtocols", []string{"TLSv1.2"}},
	{distribution, "Edge", config + "Origins/1/OriginCustomHeaders/0/HeaderName", "X-Origin-Verify"},
	{"AWS::CloudFront::OriginAccessControl", "", "Properties/OriginAccessControlConfig/SigningBehavior", "always"},
	{"AWS::CloudFront::OriginAccessControl", "", "Properties/OriginAccessControlConfig/OriginAccessControlOriginType", "s3"},

	{bucket, "Site", "Properties/PublicAccessBlockConfiguration/BlockPublicAcls", true},
	{bucket, "Site", "Properties/PublicAccessBlockConfiguration/BlockPublicPolicy", true},
	{bucket, "Site", "Properties/PublicAccessBlockConfiguration/IgnorePublicAcls", true},
	{bucket, "Site", "Properties/PublicAccessBlockConfiguration/RestrictPublicBuckets", true},
	{bucket, "Site", "Properties/BucketEncryption/ServerSideEncryptionConfiguration/0/ServerSideEncryptionByDefault/SSEAlgorithm", "AES256"},

	{"AWS::ApiGatewayV2::Api", "Api", "Properties/ProtocolType", "HTTP"},
	{"AWS::ApiGatewayV2::Integration", "", "Properties/PayloadFormatVersion", "2.0"},
	{"AWS::ApiGatewayV2::Integration", "", "Properties/IntegrationType", "AWS_PROXY"},
	{"AWS::ApiGatewayV2::Integration", "", "Properties/TimeoutInMillis", 30000},
	{"AWS::ApiGatewayV2::Route", "", "Properties/RouteKey", "$default"},
	{stage, "Stage", "Properties/StageName", "$default"},
	{stage, "Stage", "Properties/AutoDeploy", true},
	{stage, "Stage", "Properties/DefaultRouteSettings/ThrottlingRateLimit", 50},
	{stage, "Stage", "Properties/DefaultRouteSettings/ThrottlingBurstLimit", 100},

	{table, "Table", "Properties/BillingMode", "PAY_PER_REQUEST"},
	{table, "Table", "Properties/KeySchema", []any{map[string]string{"AttributeName": "k", "KeyType": "HASH"}}},
	{table, "Table", "Properties/AttributeDefinitions", []any{map[string]string{"AttributeName": "k", "AttributeType": "S"}}},
	{table, "Table", "Properties/TimeToLiveSpecification", map[string]any{"AttributeName": "expiresAt", "Enabled": true}},
	{table, "Table", "Properties/SSESpecification/SSEEnabled", true},
	{table, "Table", "Properties/DeletionProtectionEnabled", true},
	{table, "Table", "DeletionPolicy", "Retain"},

	{"AWS::SecretsManager::Secret", "OriginSecret", "Properties/GenerateSecretString/PasswordLength", 64},
	{"AWS::SecretsManager::Secret", "OriginSecret", "Properties/GenerateSecretString/ExcludePunctuation", true},
	{"AWS::SecretsManager::Secret", "HmacSecret", "Properties/GenerateSecretString/PasswordLength", 64},
	{"AWS::SecretsManager::RotationSchedule", "", "Properties/RotationRules/AutomaticallyAfterDays", 30},

	{function, "Handler", "Properties/Timeout", 29}, // inside the HTTP API's 30 s
	{function, "Rotate", "Properties/Timeout", 900},
	{"AWS::Events::Rule", "Retire", "Properties/ScheduleExpression", "rate(1 day)"},
	{"AWS::Events::Rule", "Retire", "Properties/State", "ENABLED"},

	{alarm, "AlarmSpend50", "Properties/Threshold", 50},
	{alarm, "AlarmSpend50", "Properties/TreatMissingData", "ignore"},
	{alarm, "AlarmSpend50", "Properties/Metrics/0/Expression", "IF(used >= 50 || used < 25, used)"},
	{alarm, "AlarmSpend50", "Properties/Metrics/1/MetricStat/Metric/MetricName", "GlobalUsedPercent"},
	{alarm, "AlarmSpend50", "Properties/Metrics/1/MetricStat/Stat", "Maximum"},
	{alarm, "AlarmSpend80", "Properties/Threshold", 80},
	{alarm, "AlarmSpend80", "Properties/TreatMissingData", "ignore"},
	{alarm, "AlarmSpend80", "Properties/Metrics/0/Expression", "IF(used >= 80 || used < 40, used)"},
	{alarm, "AlarmSpend100", "Properties/Threshold", 100},
	{alarm, "AlarmSpend100", "Properties/TreatMissingData", "ignore"},
	{alarm, "AlarmStoreErrors", "Properties/MetricName", "StoreErrors"},
	{alarm, "AlarmLockRefusals", "Properties/MetricName", "LockRefused"},
	{alarm, "AlarmLockRefusals", "Properties/Threshold", 500},
	{alarm, "AlarmOverruns", "Properties/MetricName", "Overruns"},
	{alarm, "AlarmOverruns", "Properties/Threshold", 1},
	{alarm, "AlarmOverruns", "Properties/Namespace", "spendcap"},
	{alarm, "AlarmOverruns", "Properties/Dimensions", []any{map[string]string{"Name": "service", "Value": "spendcap"}}},
	{alarm, "AlarmRotationFailed", "Properties/MetricName", "Errors"},
	{alarm, "AlarmRotationFailed", "Properties/Namespace", "AWS/Lambda"},
	{alarm, "AlarmRotationFailed", "Properties/Threshold", 1},
	{alarm, "AlarmHandlerFailed", "Properties/MetricName", "Errors"},

	{"AWS::Budgets::Budget", "", "Properties/Budget/BudgetType", "COST"},
	{"AWS::Budgets::Budget", "", "Properties/Budget/TimeUnit", "MONTHLY"},
	{"AWS::Budgets::Budget", "", "Properties/Budget/BudgetLimit", map[string]any{"Amount": 10, "Unit": "USD"}},
}

func init() {
	for i, status := range []int{400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504} {
		properties = append(properties, property{distribution, "Edge", fmt.Sprintf(config+"CustomErrorResponses/%d", i),
			map[string]int{"ErrorCode": status, "ErrorCachingMinTTL": 0}}) // and no page
	}
	for _, f := range []string{"Handler", "Rotate", "Page"} {
		properties = append(properties,
			property{function, f, "Properties/Runtime", "provided.al2023"},
			property{function, f, "Properties/Architectures", []string{"arm64"}},
			property{function, f, "Properties/Handler", "bootstrap"},
			property{function, f, "Properties/LoggingConfig/LogFormat", "JSON"},
			property{"AWS::Logs::LogGroup", f + "Logs", "Properties/RetentionInDays", 30},
		)
	}
	properties = append(properties, property{"AWS::Logs::LogGroup", "AccessLogs", "Properties/RetentionInDays", 30})
}

// TestProperties checks every property, and that its check fails when the property is
// taken away: the value, or the resource.
func TestProperties(t *testing.T) {
	whole := plainTemplate(t)
	for _, p := range properties {
		if err := p.check(whole); err != nil {
			t.Error(err)
			continue
		}
		less := whole.clone()
		id, r, _ := less.one(p.kind, p.name)
		if !remove(r, p.path) || p.check(less) == nil {
			t.Errorf("%s %s: the check does not see that %s is gone", p.kind, p.name, p.path)
		}
		delete(less.resources(), id)
		if p.check(less) == nil {
			t.Errorf("%s %s: the check does not see that the resource is gone", p.kind, p.name)
		}
	}
}

// rule is something that holds for the template as a whole, with ways to break it.
type rule struct {
	check  func(template) error
	breaks map[string]func(template)
}

func (r rule) run(t *testing.T, whole template) {
	t.Helper()
	if err := r.check(whole); err != nil {
		t.Error(err)
		return
	}
	if len(r.breaks) == 0 {
		t.Error("nothing shows that the check can fail")
	}
	for name, spoil := range r.breaks {
		broken := whole.clone()
		spoil(broken)
		if same(broken, whole) {
			t.Errorf("%s: changes nothing", name)
		} else if r.check(broken) == nil {
			t.Errorf("%s: the check does not see it", name)
		}
	}
}

func text(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// at returns what a path leads to in the only resource of a kind and name.
func (t template) at(kind, name, path string) any {
	_, r, err := t.one(kind, name)
	if err != nil {
		panic(err)
	}
	v, _ := get(r, path)
	return v
}

func (t template) with(kind, name, path string, value any) {
	_, r, err := t.one(kind, name)
	if err != nil {
		panic(err)
	}
	i := strings.LastIndexByte(path, '/')
	parent, _ := get(r, path[:i])
	parent.(map[string]any)[path[i+1:]] = value
}

func (t template) add(kind, name, path string, value any) {
	list, _ := t.at(kind, name, path).([]any)
	t.with(kind, name, path, append(list, value))
}
