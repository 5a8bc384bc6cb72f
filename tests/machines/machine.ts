/**
 * A root file system run as a machine: with its own mount, PID, network, cgroup, UTS and IPC namespaces. It
 * reaches the package registries through the host. Everything in it ends with `[Symbol.asyncDispose]`, or
 * with the process that started it.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { enterCgroup, mountCgroups, removeCgroups } from './control-groups.ts'

const run = promisify(execFile)

export const home = '/root'

/** Additional certificate authorities trusted by the host: a registry proxy may need them. */
const certificates = '/usr/local/share/registry-certificates.crt'

export interface MachineOptions {
  /** The root file system. */
  readonly root: string
  /** Of the machine, at most 15 characters: interfaces and control groups are named after it. */
  readonly name: string
}

export interface CommandOptions {
  readonly workingFolder?: string
  /** Inherits the standard streams of this process instead of using pipes. */
  readonly inherit?: boolean
}

export class Machine implements AsyncDisposable {
  readonly root: string
  readonly name: string
  readonly #init: ChildProcess
  /** PID of the machine's init process. */
  readonly #pid: number
  readonly #environment: Readonly<Record<string, string>>

  private constructor(
    options: MachineOptions,
    init: ChildProcess,
    pid: number,
    environment: Record<string, string>,
  ) {
    this.root = options.root
    this.name = options.name
    this.#init = init
    this.#pid = pid
    this.#environment = environment
  }

  static async boot(options: MachineOptions): Promise<Machine> {
    const { root, name } = options
    await writeConfiguration(root, name)
    const init = spawn(
      'setpriv',
      ['--pdeathsig', 'KILL', 'sh', '-c', enterCgroup, 'sh', name, ...unshare(root)],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    await once(init.stdout, 'data')
    const children = await readFile(`/proc/${init.pid}/task/${init.pid}/children`, 'utf8')
    const machine = new Machine(options, init, Number(children), await registrySettings(root))
    try {
      await machine.#connect()
      return machine
    } catch (error) {
      await machine[Symbol.asyncDispose]()
      throw error
    }
  }

  /** Starts a command in the machine, as root with a clean environment; it ends with the machine. */
  start(command: string, { workingFolder = home, inherit = false }: CommandOptions = {}): ChildProcess {
    const entered = [
      'nsenter',
      '--target',
      String(this.#pid),
      '--all',
      `--wd=${join(this.root, workingFolder)}`,
    ]
    const clean = ['env', '-i', ...Object.entries(this.#environment).map(([key, value]) => `${key}=${value}`)]
    const words = [
      '-c',
      enterCgroup,
      'sh',
      `${this.name}/commands`,
      ...entered,
      '--',
      ...clean,
      'sh',
      '-c',
      command,
    ]
    return spawn('sh', words, { stdio: inherit ? 'inherit' : ['ignore', 'pipe', 'pipe'] })
  }

  /** Resolves with stdout and stderr. Rejects with them when the command fails. */
  async run(command: string, options?: CommandOptions): Promise<string> {
    const child = this.start(command, options)
    let output = ''
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
    if (code !== 0)
      throw new Error(`\`${command}\` on ${this.name} ended with ${code ?? signal}:\n${output.slice(-8_000)}`)
    return output
  }

  /** Runs a program of the host in the machine's network namespace. */
  async runInNetwork(
    command: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const { stdout } = await run('nsenter', ['--target', String(this.#pid), '--net', ...command], {
      env: { ...process.env, ...environment },
      maxBuffer: 64 * 1_024 * 1_024,
    })
    return stdout
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#init.kill('SIGKILL')
    if (this.#init.exitCode === null && this.#init.signalCode === null) await once(this.#init, 'exit')
    await run('nft', ['delete', 'table', 'ip', this.name]).catch(() => undefined)
    await run('ip', ['link', 'delete', this.name]).catch(() => undefined)
    await removeCgroups(this.name)
    await rm(this.root, { recursive: true, force: true, maxRetries: 10 })
  }

  /** A veth pair to the host, which masquerades what leaves the machine. */
  async #connect(): Promise<void> {
    const { name } = this
    const link = await freeLink()
    const [outside, inside] = [`${link}.1`, `${link}.2`]
    const mtu = String(await routeMtu())
    const peer = ['peer', 'eth0', 'mtu', mtu, 'netns', String(this.#pid)]
    await run('ip', ['link', 'add', name, 'mtu', mtu, 'type', 'veth', ...peer])
    await run('ip', ['address', 'add', `${outside}/30`, 'dev', name])
    await run('ip', ['link', 'set', name, 'up'])
    await this.runInNetwork(['ip', 'link', 'set', 'lo', 'up'])
    await this.runInNetwork(['ip', 'address', 'add', `${inside}/30`, 'dev', 'eth0'])
    await this.runInNetwork(['ip', 'link', 'set', 'eth0', 'up'])
    await this.runInNetwork(['ip', 'route', 'add', 'default', 'via', outside])
    await writeFile('/proc/sys/net/ipv4/ip_forward', '1')
    const chain = `type nat hook postrouting priority srcnat; ip saddr ${inside} masquerade;`
    await run('nft', [`delete table ip ${name}`]).catch(() => undefined)
    await run('nft', [`table ip ${name} { chain postrouting { ${chain} }; }`])
  }
}

function unshare(root: string): readonly string[] {
  const namespaces = ['--mount', '--uts', '--ipc', '--net', '--pid', '--cgroup']
  const flags = [...namespaces, '--propagation', 'private', '--fork', '--kill-child']
  return ['unshare', ...flags, 'sh', '-c', boot, 'sh', root]
}

/** PID 1: mounts the API file systems and changes the root, then only reaps orphaned processes. */
const boot = `
set -e
root=$1
mount --bind $root $root
cd $root
mount -t proc proc proc
mount -t sysfs sysfs sys
${mountCgroups}
mount --rbind /dev dev
mount -t tmpfs -o mode=755 tmpfs run
hostname -F etc/hostname 2>/dev/null || cat etc/hostname >proc/sys/kernel/hostname
mkdir -p old
pivot_root . old
umount -l /old
rmdir /old
echo booted
while :; do sleep 3600 & wait; done`

async function writeConfiguration(root: string, name: string): Promise<void> {
  await writeFile(join(root, 'etc/hostname'), `${name}\n`)
  await writeFile(join(root, 'etc/hosts'), `127.0.0.1 localhost ${name}\n::1 localhost\n`)
  await copyFile('/etc/resolv.conf', join(root, 'etc/resolv.conf'))
  // Durability is not needed here.
  await writeFile(join(root, 'etc/dpkg/dpkg.cfg.d/unsafe-io'), 'force-unsafe-io\n')
}

/** npm settings for the registry used on this machine. */
async function registrySettings(root: string): Promise<Record<string, string>> {
  const settings: Record<string, string> = {
    HOME: home,
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    DEBIAN_FRONTEND: 'noninteractive',
  }
  for (const name of ['registry', 'proxy', 'https-proxy']) {
    const { stdout } = await run('npm', ['config', 'get', name])
    if (!['null', 'undefined', ''].includes(stdout.trim()))
      settings[`npm_config_${name.replace('-', '_')}`] = stdout.trim()
  }
  const trusted = process.env['NODE_EXTRA_CA_CERTS']
  if (trusted !== undefined && existsSync(trusted)) {
    await mkdir(join(root, certificates, '..'), { recursive: true })
    await copyFile(trusted, join(root, certificates))
    settings['NODE_EXTRA_CA_CERTS'] = certificates
    settings['npm_config_cafile'] = certificates
  }
  return settings
}

/** The first three bytes of a range in 198.18.0.0/16 (for benchmarking) that no link uses. */
async function freeLink(): Promise<string> {
  const { stdout } = await run('ip', ['-o', 'address'])
  for (let number = 0; number < 256; number++) {
    if (!stdout.includes(` 198.18.${number}.1/`)) return `198.18.${number}`
  }
  throw new Error('every address for a machine is in use')
}

/** The MTU of the host's default route, which packets must fit. */
async function routeMtu(): Promise<number> {
  const { stdout } = await run('ip', ['-j', 'link'])
  const links = JSON.parse(stdout) as readonly { readonly ifname: string; readonly mtu: number }[]
  const { stdout: routes } = await run('ip', ['-j', 'route', 'show', 'default'])
  const [route] = JSON.parse(routes) as readonly { readonly dev: string }[]
  return links.find(({ ifname }) => ifname === route?.dev)?.mtu ?? 1_500
}
