/** The first commands of a new user, with real kubectl and real containers: `testdata/first-light`. */
import { performTranscripts } from '../scenarios/perform-scenarios.ts'
import { containerCluster } from './container-cluster.ts'

performTranscripts(new URL('testdata/first-light/', import.meta.url), {
  concurrency: 3,
  start: containerCluster,
})
