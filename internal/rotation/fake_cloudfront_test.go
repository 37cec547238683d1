package rotation_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// cloudFake is CloudFront's control plane with one distribution: slow, and if told so
// behind, busy with somebody else's updates, or refusing.
type cloudFake struct {
	now    func() time.Time
	deploy time.Duration // how long an update takes to reach every part of the edge

	mu       sync.Mutex
	config   string // XML
	etag     int
	ready    time.Time // when the config is deployed everywhere
	older    []string  // configs that a part of the edge may still go by
	updates  int
	stale    int            // this many reads still answer with staleAs
	staleAs  string         //
	refuse   []string       // error codes for the next updates
	meddle   int            // this many updates find that somebody else was faster
	onChange func(s string) // called without the lock with what is sent to the API's origin from now on
}

const (
	distributionID = "E1EXAMPLE"
	apiOrigin      = "api"
	otherOrigin    = "other"
	otherSecret    = "somebody-elses-header-value-0000000000"
)

var distributionXML = `<DistributionConfig xmlns="http://cloudfront.amazonaws.com/doc/2020-05-31/">
<CallerReference>made-once</CallerReference><Aliases><Quantity>1</Quantity><Items><CNAME>www.example.com</CNAME></Items></Aliases>
<DefaultRootObject>index.html</DefaultRootObject>
<Origins><Quantity>3</Quantity><Items>
<Origin><Id>site</Id><DomainName>site.s3.us-east-1.amazonaws.com</DomainName><OriginPath></OriginPath><CustomHeaders><Quantity>0</Quantity></CustomHeaders><S3OriginConfig><OriginAccessIdentity></OriginAccessIdentity></S3OriginConfig><ConnectionAttempts>3</ConnectionAttempts><ConnectionTimeout>10</ConnectionTimeout><OriginAccessControlId>E2OAC</OriginAccessControlId></Origin>
<Origin><Id>` + apiOrigin + `</Id><DomainName>abc.execute-api.us-east-1.amazonaws.com</DomainName><OriginPath></OriginPath><CustomHeaders><Quantity>2</Quantity><Items><OriginCustomHeader><HeaderName>X-Other</HeaderName><HeaderValue>kept</HeaderValue></OriginCustomHeader><OriginCustomHeader><HeaderName>x-origin-verify</HeaderName><HeaderValue>SECRET</HeaderValue></OriginCustomHeader></Items></CustomHeaders><CustomOriginConfig><HTTPPort>80</HTTPPort><HTTPSPort>443</HTTPSPort><OriginProtocolPolicy>https-only</OriginProtocolPolicy><OriginSslProtocols><Quantity>1</Quantity><Items><SslProtocol>TLSv1.2</SslProtocol></Items></OriginSslProtocols><OriginReadTimeout>35</OriginReadTimeout><OriginKeepaliveTimeout>5</OriginKeepaliveTimeout></CustomOriginConfig></Origin>
<Origin><Id>` + otherOrigin + `</Id><DomainName>other.example.com</DomainName><OriginPath></OriginPath><CustomHeaders><Quantity>1</Quantity><Items><OriginCustomHeader><HeaderName>X-Origin-Verify</HeaderName><HeaderValue>` + otherSecret + `</HeaderValue></OriginCustomHeader></Items></CustomHeaders></Origin>
</Items></Origins>
<DefaultCacheBehavior><TargetOriginId>site</TargetOriginId><ViewerProtocolPolicy>https-only</ViewerProtocolPolicy><Compress>true</Compress><CachePolicyId>p1</CachePolicyId></DefaultCacheBehavior>
<CacheBehaviors><Quantity>1</Quantity><Items><CacheBehavior><PathPattern>/api/*</PathPattern><TargetOriginId>api</TargetOriginId><ViewerProtocolPolicy>https-only</ViewerProtocolPolicy><CachePolicyId>p2</CachePolicyId></CacheBehavior></Items></CacheBehaviors>
<CustomErrorResponses><Quantity>1</Quantity><Items><CustomErrorResponse><ErrorCode>503</ErrorCode><ErrorCachingMinTTL>0</ErrorCachingMinTTL></CustomErrorResponse></Items></CustomErrorResponses>
<Comment>spendcap</Comment><PriceClass>PriceClass_All</PriceClass><Enabled>true</Enabled><HttpVersion>http2and3</HttpVersion><IsIPV6Enabled>true</IsIPV6Enabled>
</DistributionConfig>`

func newCloudFake(now func() time.Time, secret string) *cloudFake {
	return &cloudFake{now: now, ready: now(), config: strings.Replace(distributionXML, "SECRET", secret, 1)}
}

var headerValue = regexp.MustCompile(`(?is)<HeaderName>x-origin-verify</HeaderName><HeaderValue>([^<]*)</HeaderValue>`)

// originHeader is what a configuration sends to an origin.
func originHeader(config, origin string) string {
	for _, part := range strings.Split(config, "<Origin>")[1:] {
		part, _, _ = strings.Cut(part, "</Origin>")
		if !strings.Contains(part, "<Id>"+origin+"</Id>") {
			continue
		}
		if m := headerValue.FindStringSubmatch(part); m != nil {
			return m[1]
		}
	}
	return ""
}

// sent are the values that some part of the edge may send to the API now.
func (f *cloudFake) sent() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	values := []string{originHeader(f.config, apiOrigin)}
	if f.now().Before(f.ready) {
		for _, c := range f.older {
			values = append(values, originHeader(c, apiOrigin))
		}
	} else {
		f.older = nil
	}
	return values
}

func (f *cloudFake) current() (config string, updates int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.config, f.updates
}

// put is an update by whoever.
func (f *cloudFake) put(config string) {
	if !f.now().Before(f.ready) {
		f.older = nil
	}
	f.older = append(f.older, f.config)
	f.staleAs = f.config
	f.config = config
	f.etag++
	f.ready = f.now().Add(f.deploy)
}

func (f *cloudFake) fail(w http.ResponseWriter, code string) {
	status := map[string]int{"PreconditionFailed": 412, "InvalidIfMatchVersion": 400, "AccessDenied": 403, "TooManyDistributions": 400, "ServiceUnavailable": 503}[code]
	w.WriteHeader(status)
	fmt.Fprintf(w, `<ErrorResponse xmlns="http://cloudfront.amazonaws.com/doc/2020-05-31/"><Error><Type>Sender</Type><Code>%s</Code><Message>no</Message></Error><RequestId>1</RequestId></ErrorResponse>`, code)
}

func (f *cloudFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	changed := f.serve(w, r)
	config, onChange := f.config, f.onChange
	f.mu.Unlock()
	if changed && onChange != nil {
		onChange(originHeader(config, apiOrigin))
	}
}

func (f *cloudFake) serve(w http.ResponseWriter, r *http.Request) (changed bool) {
	w.Header().Set("Content-Type", "text/xml")
	base := "/2020-05-31/distribution/" + distributionID
	config, etag := f.config, f.etag
	status := "Deployed"
	if f.now().Before(f.ready) {
		status = "InProgress"
	}
	if r.Method == http.MethodGet && f.stale > 0 && f.staleAs != "" {
		f.stale--
		config, etag, status = f.staleAs, f.etag-1, "Deployed"
	}
	switch {
	case r.Method == http.MethodGet && r.URL.Path == base+"/config":
		w.Header().Set("ETag", fmt.Sprint("E", etag))
		io.WriteString(w, config)
	case r.Method == http.MethodGet && r.URL.Path == base:
		w.Header().Set("ETag", fmt.Sprint("E", etag))
		fmt.Fprintf(w, `<Distribution xmlns="http://cloudfront.amazonaws.com/doc/2020-05-31/"><Id>%s</Id><ARN>arn</ARN><Status>%s</Status><LastModifiedTime>2026-11-30T00:00:00Z</LastModifiedTime><InProgressInvalidationBatches>0</InProgressInvalidationBatches><DomainName>d.cloudfront.net</DomainName>%s</Distribution>`, distributionID, status, config)
	case r.Method == http.MethodPut && r.URL.Path == base+"/config":
		if len(f.refuse) > 0 {
			code := f.refuse[0]
			f.refuse = f.refuse[1:]
			f.fail(w, code)
			return false
		}
		if f.meddle > 0 {
			f.meddle--
			f.put(f.config)
		}
		if r.Header.Get("If-Match") != fmt.Sprint("E", f.etag) {
			f.fail(w, "PreconditionFailed")
			return false
		}
		body, _ := io.ReadAll(r.Body)
		f.put(string(body))
		f.updates++
		w.Header().Set("ETag", fmt.Sprint("E", f.etag))
		fmt.Fprintf(w, `<Distribution xmlns="http://cloudfront.amazonaws.com/doc/2020-05-31/"><Id>%s</Id><Status>InProgress</Status></Distribution>`, distributionID)
		return true
	default:
		http.NotFound(w, r)
	}
	return false
}
