/** `k8ts kubelet`, `k8ts proxy` and `k8ts dns` as processes beside those of the control plane. */
import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { nodes, services } from '#/api/generated/core/v1-resources.ts'
import { networkPolicies } from '#/api/generated/networking/v1-resources.ts'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { nodeFolders } from '#/cluster/node-folders.ts'
import { waitUntil } from '../wait-until.ts'
import { loadImages, program } from './container-cluster.ts'
import { containersMissing } from './test-containerd.ts'
import { TestHost } from './test-host.ts'

const namespace = 'default'

interface World {
  readonly host: TestHost
  /** Serves a page, as endpoint of the service of the same name. */
  readonly web: Pod
}

type Step = (world: World) => Promise<void>

test('the components of a node as processes of their own', { skip: containersMissing }, async t => {
  const host = await TestHost.start(t)
  const { client, settings } = host
  await waitUntil(async () => {
    const { status } = (await client.find(nodes, { name: settings.nodeName })) ?? {}
    return status?.conditions?.some(each => each.type === 'Ready' && each.status === 'True') ?? false
  })
  await loadImages(settings.folder)
  await client.create(services, {
    metadata: { name: 'web', namespace },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  })
  const web = await host.runPod('web', ['exec httpd -f -p 80 -h /var/www'])
  for (const [name, step] of steps) await t.test(name, () => step({ host, web }))
})

/** Each continues where the one before has ended. */
const steps: readonly (readonly [name: string, step: Step])[] = [
  ['a pod resolves and reaches a service', ({ host }) => reachService(host, 'client')],
  ['health and metrics are served at the ports of Kubernetes', checkServers],
  [
    'containers and containerd go on when the kubelet is killed',
    world => checkContainersGoOn(world, 'SIGKILL'),
  ],
  ['containers and containerd go on when the kubelet stops', world => checkContainersGoOn(world, 'SIGTERM')],
  ['an existing container runtime and another CNI plugin are used, and pods go on', checkOtherRuntime],
  ['the rules of a stopped proxy remain, and the next one continues with them', checkRulesRemain],
  ['a DNS server that stops leaves the endpoints, and returns', checkDnsEndpoint],
  ['the cleanup of the proxy leaves no rules', checkCleanup],
  ['a second kubelet in the same folder is refused', checkLock],
  ['reset stops the kubelet and leaves nothing on the machine', checkReset],
]

/** Runs a pod that gets the page by the name of the service, through DNS and service proxy, and serves it. */
async function reachService(host: TestHost, name: string): Promise<void> {
  const command = 'until timeout 5 wget -q -O /tmp/page http://web; do :; done; exec httpd -f -p 80 -h /tmp'
  const pod = await host.runPod(name, [command])
  await waitUntil(async () => (await pageOf(host, pod, 'page')) === 'it works\n')
}

/** Empty while the pod does not answer. */
function pageOf(host: TestHost, { status }: Pod, path: string): Promise<string> {
  const url = `http://${status?.podIP}/${path}`
  return host.linux.run(['curl', '-s', '--max-time', '5', url]).catch(() => '')
}

async function checkServers({ host }: World): Promise<void> {
  const { advertiseAddress, nodeName } = host.settings
  for (const [url, expected] of [
    ['http://127.0.0.1:10248/healthz', /^ok$/],
    [`http://${advertiseAddress}:10249/metrics`, /kubeproxy_sync_proxy_rules_/],
    [`http://${advertiseAddress}:10256/healthz`, /lastUpdated/],
    [`http://${advertiseAddress}:9153/ready`, /^OK$/],
  ] as const)
    assert.match(await host.linux.run(['curl', '-s', url]), expected)
  const path = `/api/v1/nodes/${nodeName}/proxy/metrics`
  const response = await host.client.raw({ method: 'GET', path })
  assert.match(Buffer.concat(await Array.fromAsync(response.bytes())).toString(), /^kubelet_running_pods/m)
}

async function checkContainersGoOn({ host, web }: World, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const processes = await host.runtimeProcesses()
  assert.equal(await host.stop('kubelet', signal), signal === 'SIGTERM' ? 0 : undefined)
  assert.deepEqual(await host.runtimeProcesses(), processes)
  assert.equal(await pageOf(host, web, 'index.html'), 'it works\n')
  host.run('kubelet')
  await reachService(host, `after-${signal.toLowerCase()}`)
  assert.deepEqual(containerOf(await host.pod('web')), containerOf(web))
  const left = new Set(await host.runtimeProcesses())
  assert.deepEqual(
    processes.filter(pid => !left.has(pid)),
    [],
  )
}

async function checkOtherRuntime({ host, web }: World): Promise<void> {
  const { folder } = host.settings
  const { cni, containerd, containerdSocket } = nodeFolders(folder)
  const other = join(folder, 'other-cni')
  await mkdir(other)
  await writeFile(join(other, '20-other.conflist'), await readFile(join(cni, '10-k8ts.conflist')))
  for (const flags of [
    ['--container-runtime-endpoint', `unix://${containerdSocket}`, '--cni-conf-dir', cni],
    ['--pod-network', 'none', '--cni-conf-dir', other],
  ]) {
    await host.stop('kubelet', 'SIGTERM')
    host.run('kubelet', flags)
    await reachService(host, `with${flags[0]}`)
    assert.deepEqual(containerOf(await host.pod('web')), containerOf(web))
  }
  assert.deepEqual(await readdir(other), ['20-other.conflist'])
  assert.match(await readFile(join(containerd, 'containerd.toml'), 'utf8'), /other-cni/)
  await host.stop('kubelet', 'SIGTERM')
  host.run('kubelet')
}

async function checkRulesRemain({ host }: World): Promise<void> {
  const tables = (): Promise<string> => host.linux.run(['nft', 'list', 'tables'])
  // Pods that the proxy does not know yet are isolated from now on: it learns their addresses from the API.
  await host.client.create(networkPolicies, {
    metadata: { namespace, name: 'egress' },
    spec: { podSelector: {}, policyTypes: ['Egress'], egress: [{}] },
  })
  await waitUntil(async () => (await tables()).includes('table ip k8ts-policy\n'))
  const before = await tables()
  assert.match(before, /table ip k8ts-proxy\n/)
  assert.equal(await host.stop('kube-proxy', 'SIGTERM'), 0)
  assert.equal(await tables(), before)
  host.run('kube-proxy')
  await reachService(host, 'after-proxy')
  const kubeconfig = await readFile(join(host.settings.folder, 'kube-proxy.conf'), 'utf8')
  assert.match(kubeconfig, /kube-proxy-client-current\.pem/)
}

async function checkDnsEndpoint({ host }: World): Promise<void> {
  const { client, settings } = host
  const at = { namespace: 'kube-system', name: `kube-dns-${settings.nodeName}` }
  const { endpoints } = await client.get(endpointSlices, at)
  assert.deepEqual(endpoints?.[0]?.addresses, [settings.advertiseAddress])
  assert.equal(await host.stop('coredns', 'SIGTERM'), 0)
  assert.equal(await client.find(endpointSlices, at), undefined)
  assert.equal(await client.find(leases, at), undefined)
  host.run('coredns')
  await reachService(host, 'after-dns')
}

async function checkCleanup({ host }: World): Promise<void> {
  await host.stop('kube-proxy', 'SIGTERM')
  await host.linux.run([program, 'proxy', '--cleanup', '--data-dir', host.settings.folder])
  assert.doesNotMatch(await host.linux.run(['nft', 'list', 'tables']), /k8ts/)
}

async function checkLock({ host }: World): Promise<void> {
  const command = [program, 'kubelet', '--data-dir', host.settings.folder]
  await assert.rejects(host.linux.run(command), /is in use by another k8ts process: stop it/)
}

async function checkReset({ host }: World): Promise<void> {
  const { folder, nodeName } = host.settings
  await host.reset()
  assert.deepEqual(await host.runtimeProcesses(), [])
  const links = JSON.parse(await host.linux.run(['ip', '-j', 'link'])) as readonly {
    readonly ifname: string
  }[]
  assert.deepEqual(
    links.map(({ ifname }) => ifname),
    ['lo', 'eth0'],
  )
  const command = 'ls -d "$1" /sys/fs/cgroup/k8ts-"$2" /sys/fs/cgroup/*/k8ts-"$2" 2>/dev/null || true'
  assert.equal(await host.linux.run(['sh', '-c', command, 'sh', folder, nodeName]), '')
  assert.ok(!(await readFile('/proc/self/mounts', 'utf8')).includes(folder))
}

function containerOf({ status }: Pod): readonly unknown[] {
  const { containerID, restartCount, state } = status?.containerStatuses?.[0] ?? {}
  return [containerID, restartCount, state?.running?.startedAt]
}
