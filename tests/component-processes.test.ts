/** `k8ts controller-manager` and `k8ts scheduler` as processes beside `k8ts apiserver`. */
import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { request, type RequestOptions } from 'node:https'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { controllerManager, scheduler } from '#/kubeadm/identities.ts'
import { ensureKubeconfigFile } from '#/kubeadm/kubeconfig-file.ts'
import { nodeCrypto, nodePlatform } from '#/platform/node.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { post, script, textOf, up, type AdminClient } from './up/process.ts'
import { waitUntil } from './wait-until.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const crypto = nodeCrypto()
const leasePath = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'

test('controllers and scheduler run as processes with leases, metrics and identities of their own', async t => {
  const folder = await temporaryFolder(t)
  const server = await up(t, folder, '--store memory')
  await writeKubeconfigs(folder, server.url)
  await post(server, '/api/v1/nodes', node)
  const configuration = join(folder, 'scheduler.yaml')
  await writeFile(configuration, schedulerConfiguration)
  const conf = (name: string): string[] =>
    ['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'].flatMap(flag => [
      `--${flag}`,
      join(folder, `${name}.conf`),
    ])
  const port = (number: number): string[] => ['--bind-address', '127.0.0.1', '--secure-port', String(number)]
  const [managerPort, schedulerPort] = [await freePort(), await freePort()]
  const manager = start(t, [
    'controller-manager',
    ...conf('controller-manager'),
    ...port(managerPort),
    '--use-service-account-credentials',
    '--root-ca-file',
    join(folder, 'pki/ca.crt'),
    '--controllers',
    'deployment,replicaset,serviceaccount,root-ca-cert-publisher',
  ])
  const first = start(t, [
    'scheduler',
    ...conf('scheduler'),
    ...port(schedulerPort),
    '--config',
    configuration,
  ])
  await post(server, '/apis/apps/v1/namespaces/default/deployments', deployment)
  await waitUntil(async () => (await nodeNames(server)).join() === 'n1,n1')
  const account = '/api/v1/namespaces/kube-system/serviceaccounts/deployment-controller'
  assert.equal((await server.ask(account)).status, 200)
  await checkServing(server, [
    [managerPort, 'kube-controller-manager', /"Controllers":\["deployment-controller"/],
    [schedulerPort, 'custom', /"schedulerName":"default-scheduler"/],
  ])
  assert.equal(await exitOf(manager, 'SIGTERM'), 0)
  assert.equal((await leaseOf(server, 'kube-controller-manager')).spec.holderIdentity, '')
  const stolen = JSON.stringify({ spec: { holderIdentity: 'other' } })
  const patch = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } }
  assert.equal((await server.ask(`${leasePath}/custom`, patch, stolen)).status, 200)
  assert.equal(await exitOf(first), 1)
  assert.match(
    first.output(),
    /^k8ts: leader election lost: lease kube-system\/custom: lease is held by another/m,
  )
})

test('flags and files without a meaning are refused in one line', async t => {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'manager.yaml')
  await writeFile(file, 'apiVersion: v1\nkind: Pod\n')
  const check = (words: string, message: RegExp, code = 2): void => {
    const { status, stderr } = spawnSync(script, words.split(' '), { encoding: 'utf8' })
    assert.match(stderr, message)
    assert.equal(status, code)
  }
  check('controller-manager --cloud-provider external', /unknown flag: --cloud-provider/)
  check(`controller-manager --config ${file}`, /--config .*manager\.yaml: must have apiVersion/)
  check(
    'controller-manager --leader-elect-lease-duration 5s',
    /--leader-elect-lease-duration must be greater/,
  )
  check('scheduler --tls-cert-file x', /--tls-cert-file and --tls-private-key-file are required together/)
  check('scheduler --kubeconfig /missing', /cannot read kubeconfig \/missing: file not found/, 1)
  check('kubelet --cloud-provider external', /unknown flag: --cloud-provider/)
  check(`kubelet --config ${file}`, /--config .*manager\.yaml: must have apiVersion kubelet\.config/)
  check('kubelet --register-with-taints a', /--register-with-taints a: a must be KEY=VALUE:NoSchedule/)
  check(`kubelet --data-dir ${folder}`, /no kubeconfig: neither .*kubelet\.conf nor .* exists; set/, 1)
  check(`proxy --config ${file}`, /--config .*manager\.yaml: must have apiVersion kubeproxy\.config/)
  check('proxy --pod-network vxlan', /--cluster-cidr is required with --pod-network vxlan/)
  check(`proxy --pod-network none --data-dir ${folder}`, /cannot read kubeconfig .*kube-proxy\.conf/, 1)
  check('dns --kubeconfig /missing', /--cluster-dns is required/)
  check('dns --cluster-dns x', /--cluster-dns x: must be IP addresses/)
})

async function writeKubeconfigs(folder: string, url: URL): Promise<void> {
  const read = (name: string): Promise<string> => readFile(join(folder, 'pki', name), 'utf8')
  const made = {
    platform,
    crypto,
    ca: { name: 'ca', cert: await read('ca.crt'), key: await read('ca.key') },
    server: url.origin,
  }
  const path = (name: string): string => join(folder, `${name}.conf`)
  await ensureKubeconfigFile({ ...made, path: path('controller-manager'), identity: controllerManager })
  await ensureKubeconfigFile({ ...made, path: path('scheduler'), identity: scheduler })
}

interface Started {
  readonly child: ChildProcess
  readonly output: () => string
}

function start(t: TestContext, words: readonly string[]): Started {
  const child = spawn(script, words)
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk))
  return { child, output: () => output }
}

async function exitOf({ child }: Started, signal?: 'SIGTERM'): Promise<number | null> {
  const exited = child.exitCode === null ? once(child, 'exit') : [child.exitCode]
  if (signal) child.kill(signal)
  const [code] = await exited
  return code as number | null
}

type Served = readonly [port: number, lease: string, configuration: RegExp]

/** Health is open; metrics need an authorized client, here the administrator by certificate. */
async function checkServing(server: AdminClient, components: readonly Served[]): Promise<void> {
  for (const [port, lease, configuration] of components) {
    const get = async (path: string, options: RequestOptions = {}): Promise<string> => {
      const sent = request({
        host: '127.0.0.1',
        port,
        path,
        rejectUnauthorized: false,
        agent: false,
        ...options,
      })
      sent.end()
      const [response] = await once(sent, 'response')
      return textOf(response)
    }
    for (const path of ['healthz', 'livez', 'readyz']) assert.equal(await get(`/${path}`), 'ok')
    assert.match(await get('/healthz?verbose'), /^\[\+\]leaderElection ok$/m)
    assert.match(await get('/metrics'), /User \\"system:anonymous\\" cannot get path/)
    await waitUntil(async () =>
      (await get('/metrics', server.certificate)).includes('process_start_time_seconds'),
    )
    const metrics = await get('/metrics', server.certificate)
    assert.match(metrics, new RegExp(`^leader_election_master_status\\{name="${lease}"\\} 1$`, 'm'))
    assert.match(metrics, /^rest_client_requests_total\{/m)
    assert.match(await get('/configz', server.certificate), configuration)
  }
}

async function nodeNames({ ask }: AdminClient): Promise<readonly string[]> {
  const { text } = await ask('/api/v1/namespaces/default/pods')
  const list = JSON.parse(text) as {
    readonly items: readonly { readonly spec: { readonly nodeName?: string } }[]
  }
  return list.items.map(({ spec }) => spec.nodeName ?? '')
}

interface StoredLease {
  readonly spec: { readonly holderIdentity: string }
}

async function leaseOf({ ask }: AdminClient, name: string): Promise<StoredLease> {
  return JSON.parse((await ask(`${leasePath}/${name}`)).text) as StoredLease
}

/** The flag 0 turns serving off, so that a test has to choose the port. */
async function freePort(): Promise<number> {
  const { createServer } = await import('node:net')
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as { readonly port: number }
  probe.close()
  await once(probe, 'close')
  return port
}

const resources = { cpu: '4', memory: '8Gi', pods: '110' }
const node = {
  metadata: { name: 'n1' },
  status: { capacity: resources, allocatable: resources, conditions: [{ type: 'Ready', status: 'True' }] },
}
const labels = { app: 'web' }
const deployment = {
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: { tolerations: [{ operator: 'Exists' }], containers: [{ name: 'c', image: 'x' }] },
    },
  },
}
const schedulerConfiguration = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: { resourceName: custom }
clientConnection: { qps: 200, burst: 300 }
delayCacheUntilActive: true
`
