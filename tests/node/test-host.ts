/**
 * A control plane host whose components are processes of their own, with the command lines that `k8ts init` plans, in a
 * network namespace that the test reaches over a veth pair. Everything is removed when the test ends.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import { nodeFolders } from '#/cluster/node-folders.ts'
import { requireKubeconfig } from '#/cluster/proxy-credentials.ts'
import { ensureDnsEndpointRole, ensureDnsRbac, ensureDnsService } from '#/dns/ensure-dns.ts'
import {
  planControlPlaneProcesses,
  planDnsProcess,
  planNodeProcesses,
  type HostProcess,
} from '#/kubeadm/host-processes.ts'
import { dnsServer, nodeIdentity } from '#/kubeadm/identities.ts'
import { runCertsPhase, runKubeconfigPhase } from '#/kubeadm/init-files.ts'
import { planInit, type InitSettings } from '#/kubeadm/init-settings.ts'
import { ensureKubeconfigFile } from '#/kubeadm/kubeconfig-file.ts'
import { ensureRoleBindings, ensureTlsBootstrapRoleBindings } from '#/kubeadm/role-bindings.ts'
import { formatHostKubeletConfiguration, formatKubeletConfiguration } from '#/kubeadm/upload-config.ts'
import { connectHttp, nodeCrypto, nodeLinux, nodePlatform } from '#/platform/node.ts'
import type { Linux } from '#/platform/linux.ts'
import { waitUntil } from '../wait-until.ts'
import { program } from './container-cluster.ts'
import { isReady } from './lasting-cluster.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const made = { platform, crypto: nodeCrypto() }

const namespace = 'default'

export class TestHost {
  readonly settings: InitSettings
  /** Runs commands in the namespace of the host. */
  readonly linux: Linux
  readonly #namespace: string
  readonly #planned = new Map<string, HostProcess>()
  readonly #running = new Map<string, ChildProcess>()
  readonly #opened = new AsyncDisposableStack()
  #client: Client | undefined

  private constructor(namespaceName: string, settings: InitSettings, linux: Linux) {
    this.#namespace = namespaceName
    this.settings = settings
    const run: Linux['run'] = (command, options) => linux.run([...this.#launcher, ...command], options)
    this.linux = { ...linux, run }
    const { planned } = this.#plan()
    for (const each of planned) this.#planned.set(each.name, each)
  }

  /** Resolves when all components have been started. */
  static async start(t: Pick<TestContext, 'after'>): Promise<TestHost> {
    const id = randomBytes(3).toString('hex')
    const [nodeName, subnet] = [`k8ts-test-${id}`, `198.18.${randomBytes(1)[0]}`]
    const linux = await nodeLinux()
    const folder = await mkdtemp(join(tmpdir(), 'k8ts-host-'))
    const settings = planInit({
      folder,
      configuration: {
        cluster: { networking: { podSubnet: '10.246.0.0/16', serviceSubnet: '10.98.0.0/16' } },
        init: { nodeRegistration: { name: nodeName, taints: [] } },
        kubelet: {},
      },
      kubernetesVersion: 'v1.36.0',
      machine: { hostname: nodeName, address: `${subnet}.2` },
    })
    const host = new TestHost(nodeName, settings, linux)
    t.after(() => host.#remove(linux))
    for (const line of [
      `netns add ${nodeName}`,
      `link add v${id} type veth peer name eth0 netns ${nodeName}`,
      `addr add ${subnet}.1/24 dev v${id}`,
      `link set v${id} up`,
      `-n ${nodeName} link set lo up`,
      `-n ${nodeName} addr add ${subnet}.2/24 dev eth0`,
      `-n ${nodeName} link set eth0 up`,
      `-n ${nodeName} route add default via ${subnet}.1`,
    ])
      await linux.run(['ip', ...line.split(' ')])
    await host.#writeFiles()
    for (const name of host.names) host.run(name)
    await host.#prepareCluster()
    return host
  }

  /** Of all components. */
  get names(): readonly string[] {
    return [...this.#planned.keys()]
  }

  get client(): Client {
    return this.#client!
  }

  /** Starts a component. */
  run(name: string, flags: readonly string[] = []): void {
    const { command } = this.#planned.get(name)!
    const child = this.#spawn([program, ...command.slice(1), ...flags])
    this.#running.set(name, child)
  }

  /** Resolves to the exit code, or undefined after SIGKILL. */
  async stop(name: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | undefined> {
    const child = this.#running.get(name)!
    const exited = once(child, 'exit')
    child.kill(signal)
    const [code] = (await exited) as [number | null]
    return code ?? undefined
  }

  /** Log of a component. */
  async log(name: string): Promise<string> {
    return readFile(join(this.settings.folder, `${name}.log`), 'utf8')
  }

  /** Creates a pod from the image `busybox`, and resolves when it is ready. */
  async runPod(name: string, command: readonly string[]): Promise<Pod> {
    const spec: PodSpec = {
      terminationGracePeriodSeconds: 1,
      containers: [
        { name: 'main', image: 'busybox', imagePullPolicy: 'Never', command: ['sh', '-c', ...command] },
      ],
    }
    await this.client.create(pods, { metadata: { name, namespace, labels: { app: name } }, spec })
    let pod = await this.pod(name)
    await waitUntil(async () => isReady((pod = await this.pod(name))))
    return pod
  }

  pod(name: string): Promise<Pod> {
    return this.client.get(pods, { name, namespace })
  }

  /** `k8ts reset`. It stops a kubelet that runs, but not the other components. */
  async reset(): Promise<void> {
    await this.#kill(name => name !== 'kubelet')
    await this.linux.run([program, 'reset', '--force', '--data-dir', this.settings.folder])
  }

  /** Process ids of the private containerd and of the shims. */
  async runtimeProcesses(): Promise<readonly string[]> {
    const { containerd } = nodeFolders(this.settings.folder)
    const list = await this.linux.run(['sh', '-c', 'ps -eo pid,args | grep "$1" || true', 'sh', containerd])
    return list
      .split('\n')
      .filter(line => /^\s*\d+ \S*containerd(-shim\S*)? /.test(line))
      .map(line => line.trim().split(' ')[0] ?? '')
      .toSorted()
  }

  get #launcher(): readonly string[] {
    return ['nsenter', `--net=/run/netns/${this.#namespace}`, '--']
  }

  #plan(): { readonly planned: readonly HostProcess[] } {
    const { settings } = this
    return {
      planned: [
        ...planControlPlaneProcesses(settings),
        ...planNodeProcesses(settings, 'vxlan'),
        planDnsProcess(settings),
      ],
    }
  }

  #spawn(command: readonly string[]): ChildProcess {
    const [first = '', ...rest] = [...this.#launcher, ...command]
    const name = command[1] ?? ''
    const log = join(this.settings.folder, `${name}.log`)
    const script = 'log=$1; shift; exec "$@" >>"$log" 2>&1'
    return spawn('sh', ['-c', script, 'sh', log, first, ...rest], { stdio: 'ignore' })
  }

  /** As `k8ts init`, but clients reach the API server without the balancer. */
  async #writeFiles(): Promise<void> {
    const { settings } = this
    const { folder, nodeName, advertiseAddress, bindPort } = settings
    const { ca } = await runCertsPhase(made, settings)
    await runKubeconfigPhase(made, settings, {
      ca,
      files: ['super-admin.conf', 'controller-manager.conf', 'scheduler.conf'],
    })
    const server = `https://${advertiseAddress}:${bindPort}`
    for (const [file, identity] of [
      ['kubelet.conf', nodeIdentity(nodeName)],
      ['dns.conf', dnsServer],
    ] as const)
      await ensureKubeconfigFile({ ...made, path: join(folder, file), ca, server, identity })
    await mkdir(join(folder, 'kubelet'))
    const configuration = formatHostKubeletConfiguration(formatKubeletConfiguration(settings), settings)
    await writeFile(join(folder, 'kubelet/config.yaml'), configuration)
  }

  /** The objects that the phases of `k8ts init` make. */
  async #prepareCluster(): Promise<void> {
    const { folder, clusterDns } = this.settings
    const connection = await requireKubeconfig(platform, join(folder, 'super-admin.conf'))
    const transport = await openConnection({ platform, connect: connectHttp, settings: connection })
    this.#opened.use(transport)
    const client = clientOf({ platform, transport, userAgent: 'test' })
    this.#client = client
    await waitUntil(async () => {
      const ready = client.raw({ method: 'GET', path: '/readyz' })
      return ready.then(
        () => true,
        () => false,
      )
    })
    await ensureRoleBindings(client, platform.log)
    await ensureTlsBootstrapRoleBindings(client, platform.log)
    await ensureDnsRbac(client)
    await ensureDnsEndpointRole(client)
    await ensureDnsService(client, clusterDns[0] ?? '')
  }

  async #remove(linux: Linux): Promise<void> {
    await this.#opened.disposeAsync()
    await this.#kill(() => true)
    await this.reset()
    await linux.run(['ip', 'netns', 'delete', this.#namespace])
    await rm(this.settings.folder, { recursive: true, force: true })
  }

  async #kill(isChosen: (name: string) => boolean): Promise<void> {
    const children = [...this.#running]
      .filter(
        ([name, { exitCode, signalCode }]) => isChosen(name) && exitCode === null && signalCode === null,
      )
      .map(([, child]) => child)
    const exited = children.map(child => once(child, 'exit'))
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(exited)
  }
}
