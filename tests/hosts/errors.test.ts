/** What `k8ts init` and `k8ts join` say on hosts that cannot become part of a cluster. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { HostCluster } from './host-cluster.ts'
import { homeOnHost, program, type HostMachine } from './host-machine.ts'
import { hostsMissing } from './hosts-missing.ts'

const skip = hostsMissing

let host: HostMachine
let stack: AsyncDisposableStack

before(async () => {
  stack = new AsyncDisposableStack()
  if (skip) return
  const folder = await mkdtemp(join(tmpdir(), 'k8ts-hosts-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const shape = { controlPlanes: 1, workers: 0, bridge: 'in-own-namespace' } as const
  const cluster = stack.use(await HostCluster.boot({ folder, ...shape }))
  host = cluster.machines[0]!
})

after(() => stack.disposeAsync())

/** The lines of errors of a command that fails. */
async function errorsOf(...command: readonly string[]): Promise<readonly string[]> {
  const { code, stderr, stdout } = await host.run(command)
  assert.equal(code, 1, `${stdout}${stderr}`)
  const lines = stderr.split('\n').map(line => line.trim())
  return lines.filter(line => line !== '' && !line.startsWith('[WARNING') && !line.startsWith('[preflight]'))
}

test('a host that is already part of a cluster is refused with one line', { skip }, async () => {
  const processes = join(host.dataFolder, 'processes')
  await mkdir(processes, { recursive: true })
  await writeFile(join(processes, 'etcd.json'), '{"name":"etcd","command":["etcd"]}')
  const refused =
    /^k8ts: this host is already part of a cluster, .*\/processes: run k8ts reset --force first$/
  const token = ['--token', 'abcdef.0123456789abcdef', '--discovery-token-unsafe-skip-ca-verification']
  for (const command of [['init'], ['join', '10.77.0.9:6443', ...token]]) {
    const [line, ...others] = await errorsOf(program, ...command)
    assert.match(line ?? '', refused)
    assert.deepEqual(others, [])
  }
  for (const command of ['up', 'down']) {
    const [line] = await errorsOf(program, command)
    assert.match(line ?? '', /^k8ts: .*\.k8ts is that of a host of k8ts init or k8ts join: run k8ts reset/)
  }
  assert.match((await host.k8ts('status')).stdout, /are not running: start them with k8ts host start\n$/)
  assert.match((await host.k8ts('reset')).stderr, /are deleted: add --force/)
  await host.output(program, 'reset', '--force')
  assert.match((await host.k8ts('status')).stdout, /^no cluster is running/)
})

test('the data of k8ts up is not mixed with that of a host', { skip }, async () => {
  const folder = `${homeOnHost}/up`
  await host.output('mkdir', '-p', `${folder}/store`)
  const [line] = await errorsOf(program, 'init', '--data-dir', folder)
  assert.equal(
    line,
    `k8ts: ${folder} has the data of k8ts up: run k8ts down first, or set another --data-dir`,
  )
})

test(
  'taken ports, missing space and missing root are found before anything is written',
  { skip },
  async () => {
    const listen = `require('net').createServer().listen(10257, () => { console.log('ready') })`
    await host.output(
      'sh',
      '-c',
      `"$0" -e "$1" >ready & until [ -s ready ]; do sleep 0.1; done`,
      process.execPath,
      listen,
    )
    await host.output('sh', '-c', 'mkdir small && mount -t tmpfs -o size=90m small small && chmod 777 small')
    const errors = await errorsOf(program, 'init', '--data-dir', `${homeOnHost}/small/k8ts`)
    assert.deepEqual(errors, [
      '[ERROR Port-10257]: Port 10257 is in use: stop the process that ss -ltnp sport = :10257 shows',
      `[ERROR DiskSpace]: ${homeOnHost}/small/k8ts has 94 MB of free space, at least 1000 MB are needed`,
    ])
    const user = ['setpriv', '--reuid', '65534', '--clear-groups', program]
    const [line] = await errorsOf(
      ...user,
      'init',
      '--data-dir',
      '/tmp/k8ts-nobody',
      '--ignore-preflight-errors',
      'Port-10257',
    )
    assert.equal(line, '[ERROR IsPrivilegedUser]: user is not running as root: run the command with sudo')
  },
)

test('an API server that cannot be reached is named with the reason', { skip }, async () => {
  const configuration = {
    apiVersion: 'kubeadm.k8s.io/v1beta4',
    kind: 'JoinConfiguration',
    discovery: {
      bootstrapToken: {
        apiServerEndpoint: '10.77.0.1:6443',
        token: 'abcdef.0123456789abcdef',
        unsafeSkipCAVerification: true,
      },
    },
    timeouts: { discovery: '1s' },
    nodeRegistration: { ignorePreflightErrors: ['all'] },
  }
  await writeFile(join(host.home, 'join.yaml'), JSON.stringify(configuration))
  const lines = await errorsOf(program, 'join', '--config', 'join.yaml')
  const reason = 'failed to request the cluster-info ConfigMap: cannot connect to https://10.77.0.1:6443'
  assert.ok(lines[0]?.startsWith(`[discovery] Retrying: ${reason}`), lines.join('\n'))
  assert.ok(lines[1]?.startsWith(`k8ts: cannot join 10.77.0.1:6443: ${reason}`), lines.join('\n'))
  assert.match(lines[1] ?? '', /check the address and that the API server is running$/)
})
