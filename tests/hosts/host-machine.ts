/**
 * A host of a cluster on this machine: PID, mount, network, UTS, IPC and cgroup namespaces of its own, with an own home
 * folder, `/run` and control groups. The rest of the file system is that of the machine. Everything on it ends with
 * `[Symbol.asyncDispose]`, or with the process that started it.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { enterCgroup, mountCgroups, removeCgroups } from '../machines/control-groups.ts'
import { kill, type NamespaceKeeper } from './host-network.ts'

/** `k8ts` of this checkout. */
export const program = fileURLToPath(new URL('../../k8ts', import.meta.url))

/** The home folder as seen on the host. */
export const homeOnHost = '/run/root'

const administrator: readonly string[] = ['kubectl', `--kubeconfig=${homeOnHost}/.k8ts/admin.conf`]

export interface HostMachineOptions {
  /** Unique on the machine: of the control groups of the host, and its host name in lower case. */
  readonly name: string
  /** For the files of the host. */
  readonly folder: string
}

export interface CommandResult {
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

export class HostMachine implements NamespaceKeeper {
  /** The host name, which is also the name of its Node. */
  readonly name: string
  /** The home folder as seen on the machine. */
  readonly home: string
  /** Process 1 of the host. */
  readonly pid: number
  readonly #cgroup: string
  readonly #init: ChildProcess

  private constructor({ name, folder }: HostMachineOptions, init: ChildProcess, pid: number) {
    this.name = name.toLowerCase()
    this.#cgroup = name
    this.home = homeIn(folder)
    this.#init = init
    this.pid = pid
  }

  static async boot(options: HostMachineOptions): Promise<HostMachine> {
    const { name, folder } = options
    for (const each of [homeIn(folder), join(folder, 'cni')])
      await mkdir(each, { recursive: true, mode: 0o700 })
    const inside = ['sh', '-c', boot, 'sh', name.toLowerCase(), folder]
    const command = ['sh', '-c', enterCgroup, 'sh', name, ...unshare, ...inside]
    const init = spawn('setpriv', ['--pdeathsig', 'KILL', ...command], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = (await Promise.race([once(init.stdout, 'data'), once(init, 'exit')])) as [unknown]
    if (!(line instanceof Buffer)) throw new Error(`host ${name} did not start: ${String(line)}`)
    const children = await readFile(`/proc/${init.pid}/task/${init.pid}/children`, 'utf8')
    return new HostMachine(options, init, Number(children))
  }

  /** The data folder of k8ts, as seen on the machine. */
  get dataFolder(): string {
    return join(this.home, '.k8ts')
  }

  /** Runs a command as root with a clean environment. */
  async run(
    command: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<CommandResult> {
    const child = this.#spawn(command, environment)
    let stdout = ''
    let stderr = ''
    child.stdout!.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr!.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    const [code] = (await once(child, 'exit')) as [number | null]
    // Not until the streams are closed: a process in the background keeps them.
    await new Promise(setImmediate)
    return { code: code ?? undefined, stdout, stderr }
  }

  k8ts(...words: readonly string[]): Promise<CommandResult> {
    return this.run([program, ...words])
  }

  /** As the administrator. */
  kubectl(...words: readonly string[]): Promise<string> {
    return this.output(...administrator, ...words)
  }

  /** Of a cluster that may not answer. */
  tryKubectl(...words: readonly string[]): Promise<CommandResult> {
    return this.run([...administrator, '--request-timeout=5s', ...words])
  }

  /** Of the etcd member of this host. */
  etcdctl(...words: readonly string[]): Promise<string> {
    const file = (name: string): string => `${homeOnHost}/.k8ts/pki/etcd/${name}`
    const flags = [
      '--endpoints=https://127.0.0.1:2379',
      `--cacert=${file('ca.crt')}`,
      `--cert=${file('healthcheck-client.crt')}`,
      `--key=${file('healthcheck-client.key')}`,
    ]
    return this.output('env', 'ETCDCTL_API=3', 'etcdctl', ...flags, ...words)
  }

  /** Resolves with the output. Rejects when it fails. */
  async output(...command: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(command)
    if (code === 0) return stdout
    throw new Error(`${command.join(' ')} on ${this.name} ended with ${code}:\n${stdout}${stderr}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await kill(this.#init)
    await removeCgroups(this.#cgroup)
  }

  #spawn(command: readonly string[], environment: Readonly<Record<string, string>>): ChildProcess {
    const clean = { HOME: homeOnHost, PATH: process.env['PATH'] ?? '', ...environment }
    const words = Object.entries(clean).map(([key, value]) => `${key}=${value}`)
    const enter = [
      'nsenter',
      '--target',
      String(this.pid),
      '--all',
      `--wd=/proc/${this.pid}/root${homeOnHost}`,
    ]
    const inside = [...enter, 'env', '-i', ...words, ...command]
    return spawn('sh', ['-c', enterCgroup, 'sh', `${this.#cgroup}/commands`, ...inside], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }
}

function homeIn(folder: string): string {
  return join(folder, 'home')
}

const unshare: readonly string[] = [
  'unshare',
  '--mount',
  '--uts',
  '--ipc',
  '--net',
  '--pid',
  '--cgroup',
  '--propagation',
  'private',
  '--fork',
  '--kill-child',
]

/** PID 1: mounts what differs from the machine, then only reaps orphaned processes. */
const boot = `
set -e
name=$1 folder=$2
hostname "$name"
# Copies of the mounts of other nodes would keep their network namespaces.
awk -v folder="$folder/" 'index($2, "/tmp/") == 1 && index(folder, $2 "/") != 1 { print $2 }' /proc/self/mounts |
  tac | xargs -r umount --lazy 2>/dev/null || :
mount -t proc proc /proc
mount -t sysfs sysfs /sys
cd /
${mountCgroups}
mount --bind "$folder" /mnt
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -m 700 ${homeOnHost}
mount --bind /mnt/home ${homeOnHost}
mkdir -p /var/lib/cni
mount --bind /mnt/cni /var/lib/cni
umount /mnt
sysctl -qw net.ipv4.ip_forward=1
echo booted
while :; do sleep 3600 & wait; done`
