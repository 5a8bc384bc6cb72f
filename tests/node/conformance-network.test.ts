/** Network conformance: services, DNS, proxies, streams and tokens, as in `testdata/conformance-network`. */
import { performTranscripts } from '../scenarios/perform-scenarios.ts'
import { containerCluster } from './container-cluster.ts'

performTranscripts(new URL('testdata/conformance-network/', import.meta.url), {
  concurrency: 3,
  start: containerCluster,
})
