/** Container settings, checked from inside the container. */
import assert from 'node:assert/strict'
import { mkdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { ContainerConfig, ContainerSecurity, Mount, SandboxConfig, SandboxSecurity } from '#/cri/cri.ts'
import { containerConfig, sandboxConfig } from '#/cri/test-configs.ts'
import { containersMissing, TestContainerd } from './test-containerd.ts'

describe('container settings', { skip: containersMissing }, () => {
  let node: TestContainerd
  let pods = 0
  before(async () => {
    node = await TestContainerd.start()
  })
  after(() => node[Symbol.asyncDispose]())

  interface Pod {
    readonly sandbox: SandboxConfig
    readonly sandboxId: string
  }

  async function pod(more: Partial<SandboxConfig> = {}): Promise<Pod> {
    const uid = `settings-${pods++}`
    const labels = { 'io.kubernetes.pod.uid': uid }
    const logFolder = join(node.folder, 'logs', uid)
    const sandbox = sandboxConfig(uid, { labels, logFolder, cgroupParent: node.cgroupParent, ...more })
    return { sandbox, sandboxId: await node.runtime.runPodSandbox(sandbox) }
  }

  async function podWith(
    security: Partial<SandboxSecurity>,
    more: Partial<SandboxConfig> = {},
  ): Promise<Pod> {
    return pod({ security: { ...sandboxConfig('').security, ...security }, ...more })
  }

  async function start(
    { sandbox, sandboxId }: Pod,
    name: string,
    more: Partial<ContainerConfig>,
  ): Promise<string> {
    const image = await node.runtime.imageStatus('busybox')
    const command = ['sleep', '100000']
    const { labels } = sandbox
    const config = containerConfig(name, { image: image!.id, userImage: 'busybox', command, labels, ...more })
    const id = await node.runtime.createContainer({ sandboxId, sandbox, config })
    await node.runtime.startContainer(id)
    return id
  }

  async function ask(id: string, script: string): Promise<string> {
    const result = await node.runtime.execSync({
      containerId: id,
      command: ['sh', '-c', script],
      timeoutMs: 60_000,
    })
    return Buffer.concat([result.stdout, result.stderr]).toString().trim()
  }

  async function run(more: Partial<ContainerConfig>, script: string): Promise<string> {
    return ask(await start(await pod(), 'it', more), script)
  }

  function security(more: Partial<ContainerSecurity>): { readonly security: ContainerSecurity } {
    return { security: { ...containerConfig('').security, ...more } }
  }

  test('the container gets its environment, working directory and arguments', async () => {
    const environment = [
      { name: 'PLAIN', value: 'one two' },
      { name: 'UNICODE', value: 'größe = $PLAIN' },
      { name: 'EMPTY', value: '' },
    ]
    const more = { environment, workingDir: '/var/www', command: ['sh', '-c'], args: ['sleep 100000'] }
    const text = await run(more, 'pwd; echo "$PLAIN|$UNICODE|${EMPTY-unset}|"; cat index.html')
    assert.equal(text, '/var/www\none two|größe = $PLAIN||\nit works')
  })

  test('the container runs with its user and groups', async () => {
    const given = security({ runAsUser: 1_234, runAsGroup: 4_321, supplementalGroups: [7, 8] })
    assert.equal(await run(given, 'id -u; id -g; id -G'), '1234\n4321\n4321 7 8')
    assert.equal(await run(security({ runAsUsername: 'user' }), 'id -u; id -g'), '1000\n1000')
    assert.equal(await run(security({ runAsUser: 0 }), 'id -u'), '0')
  })

  test('capabilities, no_new_privs and a read-only root filesystem apply', async () => {
    const effective = "sed -n 's/^CapEff:\\s*//p' /proc/self/status"
    const bits = async (more: Partial<ContainerSecurity>) =>
      BigInt(`0x${await run(security(more), effective)}`)
    const usual = await bits({})
    const [netRaw, netAdmin] = [1n << 13n, 1n << 12n]
    assert.deepEqual([usual & netRaw, usual & netAdmin], [netRaw, 0n])
    const changed = await bits({ addCapabilities: ['NET_ADMIN'], dropCapabilities: ['NET_RAW'] })
    assert.deepEqual([changed & netRaw, changed & netAdmin], [0n, netAdmin])
    assert.equal(await bits({ dropCapabilities: ['ALL'] }), 0n)
    const facts = "sed -n 's/^NoNewPrivs:\\s*//p' /proc/self/status; touch /x 2>&1"
    const strict = security({ noNewPrivileges: true, readonlyRootfs: true })
    assert.equal(await run(strict, facts), '1\ntouch: /x: Read-only file system')
    assert.equal(await run({}, facts), '0')
  })

  test('a privileged container has all capabilities and devices', async () => {
    const sandbox = await podWith({ privileged: true })
    const id = await start(sandbox, 'it', security({ privileged: true }))
    assert.equal(await ask(id, 'mkdir /m; mount -t tmpfs none /m && echo mounted'), 'mounted')
    assert.match(
      await run({}, 'mkdir /m; mount -t tmpfs none /m && echo mounted'),
      /denied|permitted|permission/i,
    )
  })

  test('seccomp, masked and read-only paths apply', async () => {
    const mode = "sed -n 's/^Seccomp:\\s*//p' /proc/self/status"
    assert.equal(await run(security({ seccomp: { type: 'RuntimeDefault' } }), mode), '2')
    assert.equal(await run(security({ seccomp: { type: 'Unconfined' } }), mode), '0')
    const profile = join(node.folder, 'seccomp.json')
    const syscalls = [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' }]
    await writeFile(profile, JSON.stringify({ defaultAction: 'SCMP_ACT_ALLOW', syscalls }))
    const own = security({ seccomp: { type: 'Localhost', localhostRef: profile } })
    assert.match(await run(own, 'mkdir /x; echo $?'), /^1\n.*Operation not permitted/)
    const hidden = security({ maskedPaths: ['/proc/cpuinfo'], readonlyPaths: ['/proc/sys'] })
    const script = 'cat /proc/cpuinfo | wc -c; echo 1 > /proc/sys/net/ipv4/ip_forward'
    assert.match(await run(hidden, script), /^0\n.*Read-only file system/)
  })

  test('mounts are writable or read-only, can be files, and propagate later mounts', async () => {
    const folder = join(node.folder, 'volume')
    await mkdir(join(folder, 'late'), { recursive: true })
    await writeFile(join(folder, 'file'), 'content\n')
    await node.linux.mounts.bind(folder, folder)
    await node.linux.mounts.makeShared(folder)
    const mount = (containerPath: string, more: Partial<Mount> = {}): Mount => ({
      hostPath: folder,
      containerPath,
      readonly: false,
      recursiveReadonly: false,
      propagation: 'private',
      selinuxRelabel: false,
      ...more,
    })
    const mounts = [
      mount('/data'),
      mount('/fixed', { readonly: true }),
      mount('/one', { hostPath: join(folder, 'file') }),
      mount('/follows', { propagation: 'host-to-container' }),
    ]
    const id = await start(await pod(), 'it', { mounts })
    assert.equal(await ask(id, 'cat /one; echo x > /data/new; cat /fixed/new'), 'content\nx')
    assert.match(await ask(id, 'echo x > /fixed/new'), /Read-only file system/)
    assert.equal(await readFile(join(folder, 'new'), 'utf8'), 'x\n')
    await node.linux.mounts.tmpfs(join(folder, 'late'))
    await writeFile(join(folder, 'late', 'seen'), '')
    assert.equal(await ask(id, 'ls /follows/late; ls /data/late'), 'seen')
    const status = await node.runtime.containerStatus(id)
    assert.deepEqual(
      status.mounts.filter(({ containerPath }) => mounts.some(each => each.containerPath === containerPath)),
      mounts,
    )
    const privileged = await start(await podWith({ privileged: true }), 'it', {
      mounts: [mount('/both', { propagation: 'bidirectional' })],
      ...security({ privileged: true }),
    })
    await ask(privileged, 'mkdir /both/back; mount -t tmpfs none /both/back; touch /both/back/seen')
    assert.equal(await readFile(join(folder, 'back', 'seen'), 'utf8'), '')
    await node.linux.mounts.unmount(join(folder, 'back'))
    await node.linux.mounts.unmount(join(folder, 'late'))
  })

  test('devices of the spec are available in the container', async () => {
    const devices = [{ hostPath: '/dev/null', containerPath: '/dev/nothing', permissions: 'rwm' }]
    assert.equal(await run({ devices }, 'echo x > /dev/nothing; ls -l /dev/nothing | cut -c1'), 'c')
  })

  test('the pod has its hostname, resolv.conf and sysctls', async () => {
    const dns = { servers: ['10.9.8.7'], searches: ['a.example', 'b.example'], options: ['ndots:5'] }
    const sysctls = { 'net.ipv4.ip_local_port_range': '2000 3000', 'kernel.shm_rmid_forced': '1' }
    const id = await start(await pod({ hostname: 'its-name', dns, sysctls }), 'it', {})
    assert.equal(await ask(id, 'hostname'), 'its-name')
    const resolver = await ask(id, 'cat /etc/resolv.conf')
    assert.deepEqual(resolver.split('\n'), [
      'search a.example b.example',
      'nameserver 10.9.8.7',
      'options ndots:5',
    ])
    const read = 'cat /proc/sys/net/ipv4/ip_local_port_range /proc/sys/kernel/shm_rmid_forced'
    assert.equal((await ask(id, read)).replaceAll(/\s+/g, ' '), '2000 3000 1')
  })

  test('PID namespace modes determine which processes are visible', async () => {
    const count = 'ls -d /proc/[0-9]* | wc -l'
    const own = await pod()
    const first = await start(own, 'first', {})
    const second = await start(own, 'second', {})
    assert.equal(await ask(first, "tr '\\0' ' ' < /proc/1/cmdline"), 'sleep 100000')
    const debug = security({ namespaces: { network: 'pod', pid: { target: first }, ipc: 'pod' } })
    const inspector = await start(own, 'debug', { ...debug, command: ['sleep', '99999'] })
    assert.match(await ask(inspector, "tr '\\0' ' ' < /proc/1/cmdline"), /^sleep 100000/)
    const namespaces = { network: 'pod', pid: 'pod', ipc: 'pod' } as const
    const shared = await podWith({ namespaces })
    const [one, two] = [
      await start(shared, 'one', security({ namespaces })),
      await start(shared, 'two', security({ namespaces })),
    ]
    assert.match(await ask(one, "tr '\\0' ' ' < /proc/1/cmdline"), /pause/)
    assert.ok(Number(await ask(two, count)) > Number(await ask(second, count)))
  })

  test('a pod with the host network has the network and hostname of the node', async () => {
    const namespaces = { network: 'node', pid: 'node', ipc: 'node' } as const
    const host = await podWith({ namespaces }, { hostname: '' })
    const id = await start(host, 'it', security({ namespaces }))
    const kinds = ['net', 'pid', 'ipc']
    const own = await Promise.all(kinds.map(kind => readlink(`/proc/self/ns/${kind}`)))
    const seen = await ask(id, kinds.map(kind => `readlink /proc/self/ns/${kind}`).join(';'))
    assert.deepEqual(seen.split('\n'), own)
    assert.equal(await ask(id, `test -d /proc/${process.pid} && echo seen`), 'seen')
  })

  test('a host port forwards to the container port', async () => {
    const hostPort = 20_000 + (process.pid % 10_000)
    const portMappings = [{ protocol: 'TCP', containerPort: 8_080, hostPort, hostIp: '' }] as const
    const command = ['nc', '-ll', '-p', '8080', '-e', 'cat']
    const { sandboxId, ...rest } = await pod({ portMappings })
    await start({ sandboxId, ...rest }, 'it', { command })
    const { addresses } = await node.runtime.podSandboxStatus(sandboxId)
    const rules = await node.linux.run(['iptables-save', '-t', 'nat'])
    assert.match(rules, new RegExp(`--dport ${hostPort} .*--to-destination ${addresses[0]}:8080`))
  })

  test('resource limits are set in the cgroup and updated on change', async () => {
    const resources = { cpuShares: 300, cpuPeriod: 100_000, cpuQuota: 50_000, memoryLimitBytes: 33_554_432 }
    const id = await start(await pod(), 'it', { resources: { ...resources, oomScoreAdj: 500 } })
    const isUnified = node.linux.machine.cgroupVersion === 2
    const files = isUnified
      ? ['/cpu.max', '/memory.max']
      : ['cpu/cpu.shares', 'cpu/cpu.cfs_quota_us', 'memory/memory.limit_in_bytes']
    const read = async (file: string) => {
      const path = join('/sys/fs/cgroup', file.replace('/', `${node.cgroupParent}/${id}/`))
      return (await readFile(path, 'utf8')).trim()
    }
    const first = isUnified ? ['50000 100000', '33554432'] : ['300', '50000', '33554432']
    assert.deepEqual(await Promise.all(files.map(read)), first)
    assert.equal(await ask(id, 'cat /proc/1/oom_score_adj'), '500')
    const more = { ...resources, cpuShares: 400, cpuQuota: 70_000, memoryLimitBytes: 67_108_864 }
    await node.runtime.updateContainerResources(id, more)
    const second = isUnified ? ['70000 100000', '67108864'] : ['400', '70000', '67108864']
    assert.deepEqual(await Promise.all(files.map(read)), second)
  })

  test('a TTY has a size and merges stdout and stderr', async () => {
    const id = await start(await pod(), 'it', {})
    const streams = { stdin: true, stdout: true, stderr: true, tty: true }
    await using shell = await node.runtime.exec({ containerId: id, command: ['sh'], ...streams })
    shell.resize({ columns: 91, rows: 17 })
    const script = 'while [ "$(stty size)" != "17 91" ]; do sleep 0.1; done; echo so-it-is >&2; exit 6'
    await shell.writeStdin(Buffer.from(`${script}\n`))
    const said = Buffer.concat(await Array.fromAsync(shell.stdout)).toString()
    assert.match(said, /\nso-it-is\r/)
    assert.deepEqual(await shell.result, { type: 'exited', code: 6 })
  })
})
