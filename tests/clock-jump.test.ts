/** A cluster whose machine jumps forward by more than the lifetime of its certificates. */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { Cluster } from '#/cluster.ts'
import {
  connectHttp,
  importModule,
  loadGrpc,
  nodeCrypto,
  nodePlatform,
  processUsage,
  serveHttp,
} from '#/platform/node.ts'
import type { Platform } from '#/platform/platform.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { waitUntil } from './wait-until.ts'

const dayMs = 24 * 3_600_000

test('certificates that a jump of the clock has made invalid are renewed in a running cluster', async t => {
  const folder = await temporaryFolder(t)
  const machine = nodePlatform({ log: { level: 'error', format: 'text' } })
  let jumpMs = 0
  const clock = { ...machine.clock, now: () => machine.clock.now() + jumpMs }
  await using cluster = await startCluster({ ...machine, clock }, folder)
  const validAt = async (atMs: number): Promise<boolean> => {
    const certificates = [await servedCertificate(cluster.url), ...(await storedCertificates(folder))]
    return certificates.every(
      each => each.validFromDate.getTime() <= atMs && each.validToDate.getTime() > atMs,
    )
  }
  assert.ok(await validAt(clock.now()))
  jumpMs = 400 * dayMs
  assert.ok(!(await validAt(clock.now())))
  await waitUntil(() => validAt(clock.now()))
})

function startCluster(platform: Platform, folder: string): Promise<Cluster> {
  return Cluster.start({
    platform,
    machine: {
      serveHttp,
      connectHttp,
      importModule,
      loadGrpc,
      crypto: nodeCrypto(),
      usage: processUsage,
      names: [],
      pid: process.pid,
      startedMs: platform.clock.now(),
    },
    folder,
    host: '127.0.0.1',
    port: 0,
    store: { type: 'memory' },
    build: { version: '0.0.0' },
    onProgress: () => undefined,
  })
}

/** The certificate of a new connection. */
async function servedCertificate(url: string): Promise<X509Certificate> {
  const { port, hostname: host } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<X509Certificate>()
  // Its validity is what is tested.
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false }, () =>
    resolve(socket.getPeerX509Certificate()!),
  )
  socket.on('error', reject)
  return promise.finally(() => socket.destroy())
}

/** The client certificates of the API server and of the administrator. */
async function storedCertificates(folder: string): Promise<readonly X509Certificate[]> {
  const names = ['apiserver-kubelet-client', 'front-proxy-client']
  const files = await Promise.all(names.map(name => readFile(join(folder, 'pki', `${name}.crt`), 'utf8')))
  const kubeconfig = await readFile(join(folder, 'admin.conf'), 'utf8')
  const administrator = /client-certificate-data: (\S+)/.exec(kubeconfig)![1]!
  return [...files, Buffer.from(administrator, 'base64')].map(pem => new X509Certificate(pem))
}
