/** Node and volume conformance tests of Kubernetes, condensed: `testdata/conformance-node`. */
import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ChildCluster } from '../clients/cluster.ts'
import { performTranscripts } from '../scenarios/perform-scenarios.ts'
import { containerCluster, program } from './container-cluster.ts'
import { testImage } from './test-images.ts'

performTranscripts(new URL('testdata/conformance-node/', import.meta.url), {
  concurrency: 3,
  start: clusterWithGreeter,
})

/** Adds an image with its own entrypoint and arguments. */
async function clusterWithGreeter(): Promise<ChildCluster> {
  const cluster = await containerCluster()
  const config = { entrypoint: ['echo', 'hello'], cmd: ['everybody'] }
  const path = join(cluster.folder, 'greeter.tar')
  await writeFile(path, await testImage({ reference: 'docker.io/library/greeter:1', config }))
  await promisify(execFile)(program, ['image', 'load', path, '--data-dir', cluster.folder])
  await rm(path)
  return cluster
}
