/** A control plane host eleven months after `k8ts init`. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readCertificateExpirations } from '#/kubeadm/managed-certificates.ts'
import { nodePlatform } from '#/platform/node.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { HostCluster } from './host-cluster.ts'
import { type HostMachine } from './host-machine.ts'
import { hostsMissing } from './hosts-missing.ts'
import { until } from './until.ts'

const dayMs = 24 * 3_600_000
const jumpingHost = fileURLToPath(new URL('jumping-host.ts', import.meta.url))

test(
  'all certificates of a running host are renewed, while its API server answers',
  { skip: hostsMissing },
  async t => {
    const folder = await temporaryFolder(t)
    const shape = { controlPlanes: 1, workers: 0, bridge: 'in-own-namespace' } as const
    await using cluster = await HostCluster.boot({ folder, ...shape })
    const host = cluster.machines[0]!
    const command = [process.execPath, '--conditions=k8ts-source', jumpingHost, '.k8ts', host.name]
    await host.output('sh', '-c', '"$@" >host.log 2>&1 &', 'sh', ...command, cluster.addressOf(host))
    await until(() => isReady(host))
    const early = await daysLeft(host)
    assert.deepEqual(
      [...early].filter(([, days]) => days < 60).map(([name]) => name),
      [
        'admin.conf',
        'apiserver-etcd-client',
        'controller-manager.conf',
        'etcd-healthcheck-client',
        'etcd-peer',
        'etcd-server',
        'scheduler.conf',
        'super-admin.conf',
      ],
      'the API server renews its own',
    )
    const kubectl = 'kubectl --kubeconfig=.k8ts/super-admin.conf'
    const probe = `while :; do ${kubectl} get namespace default >/dev/null && echo answered; done`
    await host.output('sh', '-c', '("$@" >probes 2>&1 &)', 'sh', 'sh', '-c', probe)
    await writeFile(join(host.dataFolder, 'jump'), '')
    await until(async () => [...(await daysLeft(host)).values()].every(days => days > 300))
    await until(async () => (await servedDaysLeft(host, '2379')) > 300)
    await until(async () => {
      const states = await processStates(host)
      return ['kube-controller-manager', 'kube-scheduler'].every(name =>
        /^process \d+, restarts/.test(states.get(name) ?? ''),
      )
    })
    const states = await processStates(host)
    for (const name of ['etcd', 'kube-apiserver']) assert.match(states.get(name) ?? '', /^process \d+$/)
    const probes = (await readFile(join(host.home, 'probes'), 'utf8')).trim().split('\n')
    assert.deepEqual(new Set(probes), new Set(['answered']))
    // It connects again, with the renewed certificate.
    await host.output('pkill', '-KILL', '-x', 'etcd')
    await until(() => isReady(host))
  },
)

async function isReady(host: HostMachine): Promise<boolean> {
  const readyz = ['kubectl', '--kubeconfig=.k8ts/super-admin.conf', 'get', '--raw', '/readyz']
  return (await host.run(readyz)).code === 0
}

/** Of the certificates in files. */
async function daysLeft({ dataFolder }: HostMachine): Promise<ReadonlyMap<string, number>> {
  const { files } = nodePlatform({ log: { level: 'error', format: 'text' } })
  const folders = { certificates: join(dataFolder, 'pki'), kubeconfigs: dataFolder }
  const { certificates } = await readCertificateExpirations(files, folders)
  return new Map(certificates.map(({ name, expiresMs }) => [name, (expiresMs! - Date.now()) / dayMs]))
}

/** Of the certificate of a server on the host. */
async function servedDaysLeft(host: HostMachine, port: string): Promise<number> {
  const script = `openssl s_client -connect 127.0.0.1:${port} </dev/null 2>/dev/null | openssl x509 -noout -enddate`
  const [, end = ''] = /notAfter=(.*)/.exec(await host.output('sh', '-c', script)) ?? []
  return (Date.parse(end) - Date.now()) / dayMs
}

/** As `k8ts status` shows them. */
async function processStates(host: HostMachine): Promise<ReadonlyMap<string, string>> {
  const { stdout } = await host.k8ts('status')
  return new Map(stdout.split('\n').map(line => line.split(': ') as [string, string]))
}
