/**
 * Durable writes per second: the embedded store and a real etcd on the same disk, measured alternately in one
 * run.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadGrpc, nodePlatform } from '#/platform/node.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import { EtcdStore } from '#/store/etcd.ts'
import type { Store } from '#/store/store.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const connectGrpc = await loadGrpc()

/** Target ratio to etcd, by the number of concurrent writers. */
const aims = new Map([
  [1, 3],
  [32, 8],
])

const rounds = 3

export async function benchWrites(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'k8ts-bench-'))
  try {
    await using etcd = await startEtcd(join(folder, 'etcd'))
    await using remote = EtcdStore.open({ platform, connect: connectGrpc, endpoints: [etcd.endpoint] })
    await using embedded = await EmbeddedStore.open({ platform, folder: join(folder, 'embedded') })
    console.log('durable writes of 1 kB a second')
    for (const writers of [1, 32]) {
      const rates = { embedded: 0, etcd: 0 }
      for (let round = 0; round < rounds; round++) {
        rates.etcd += (await measure(remote, writers, 1_000)) / rounds
        rates.embedded += (await measure(embedded, writers, writers === 1 ? 2_000 : 20_000)) / rounds
      }
      console.log(
        `  ${writers} writers: embedded ${Math.round(rates.embedded)}, etcd ${Math.round(rates.etcd)},` +
          ` ratio ${(rates.embedded / rates.etcd).toFixed(1)} (aim: ${aims.get(writers)})`,
      )
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

let keys = 0

async function measure(store: Store, writers: number, writes: number): Promise<number> {
  const value = Buffer.alloc(1_000, 'v')
  const started = performance.now()
  let begun = 0
  await Promise.all(
    Array.from({ length: writers }, async () => {
      while (begun++ < writes) await store.create(`/registry/pods/default/pod-${keys++}`, value)
    }),
  )
  return (writes / (performance.now() - started)) * 1_000
}

async function startEtcd(folder: string): Promise<AsyncDisposable & { readonly endpoint: string }> {
  const [clientUrl, peerUrl] = [
    `http://127.0.0.1:${await freePort()}`,
    `http://127.0.0.1:${await freePort()}`,
  ]
  const child = spawn(
    'etcd',
    [
      '--data-dir',
      folder,
      '--listen-client-urls',
      clientUrl,
      '--advertise-client-urls',
      clientUrl,
      '--listen-peer-urls',
      peerUrl,
      '--initial-advertise-peer-urls',
      peerUrl,
      '--initial-cluster',
      `default=${peerUrl}`,
      '--log-level',
      'error',
    ],
    { stdio: 'ignore' },
  )
  const exited = new Promise<void>(resolve => {
    child.once('exit', () => resolve())
  })
  return {
    endpoint: clientUrl,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => {
    server.close(resolve)
  })
  return port
}
