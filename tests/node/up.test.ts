/** Clusters with containers: in the background, two side by side, static pods, and complete removal. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { loadImages, program } from './container-cluster.ts'
import { waitUntil } from '../wait-until.ts'

const run = promisify(execFile)

interface Detached {
  readonly folder: string
  readonly kubectl: (...words: readonly string[]) => Promise<string>
  readonly k8ts: (...words: readonly string[]) => Promise<string>
}

async function up(t: TestContext): Promise<Detached> {
  const folder = await mkdtemp(join(tmpdir(), 'k8ts-up-'))
  const k8ts: Detached['k8ts'] = async (...words) => {
    return (await run(program, [...words, '--data-dir', folder])).stdout
  }
  t.after(() => k8ts('down'))
  const said = await k8ts('up', '--runtime', 'containerd', '--port', '0', '--detach')
  assert.match(said, /^ready in .*\nexport KUBECONFIG=/m)
  const environment = { ...process.env, KUBECONFIG: join(folder, 'admin.conf') }
  const kubectl: Detached['kubectl'] = async (...words) => {
    return (await run('kubectl', [...words], { env: environment })).stdout
  }
  return { folder, kubectl, k8ts }
}

async function eventually(condition: () => Promise<boolean>): Promise<void> {
  await waitUntil(() => condition().catch(() => false))
}

test('two clusters run side by side in the background in isolation', async t => {
  const [one, other] = await Promise.all([up(t), up(t)])
  await Promise.all([one, other].map(({ folder }) => loadImages(folder)))
  const addresses = await Promise.all([one, other].map(({ kubectl }) => addressOfWeb(kubectl)))
  assert.notEqual(addresses[0], addresses[1])
  for (const { k8ts, kubectl } of [one, other]) {
    assert.match(await k8ts('status'), /^ready at https:.*\nnode .*: Ready, containerd:.*\npods: 1 Running\n/)
    assert.equal((await kubectl('get', 'pods', '-o', 'name')).trim(), 'pod/web')
  }
  await one.k8ts('down')
  await assert.rejects(one.k8ts('status'), { code: 1, stdout: /^no cluster is running in / })
  const [, address = ''] = addresses
  assert.equal((await run('wget', ['-q', '-O-', `http://${address}/`])).stdout, 'it works\n')
})

/** The address reachable from the machine. */
async function addressOfWeb(kubectl: Detached['kubectl']): Promise<string> {
  await eventually(async () => (await kubectl('get', 'serviceaccount', 'default', '-o', 'name')) !== '')
  await kubectl('run', 'web', '--image=nginx:1.7.9', '--port=80', '--expose')
  await kubectl('wait', '--for=condition=Ready', 'pod/web', '--timeout=60s')
  const address = await kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}')
  await eventually(
    async () => (await run('wget', ['-q', '-O-', `http://${address}/`])).stdout === 'it works\n',
  )
  return address
}

test('a static pod runs with its manifest file and has a mirror pod', async t => {
  const { folder, kubectl } = await up(t)
  await loadImages(folder)
  const path = join(folder, 'manifests', 'hello.yaml')
  const manifest = (text: string): string => `apiVersion: v1
kind: Pod
metadata: { name: hello, namespace: kube-system }
spec:
  terminationGracePeriodSeconds: 0
  containers: [{ name: main, image: nginx:1.7.9, env: [{ name: TEXT, value: ${text} }] }]
`
  await writeFile(path, manifest('first'))
  const pod = (await kubectl('get', 'nodes', '-o', 'jsonpath=hello-{.items[0].metadata.name}')).trim()
  const inPod = (...words: readonly string[]): Promise<string> => kubectl('-n', 'kube-system', ...words)
  await eventually(async () => (await inPod('exec', pod, '--', 'sh', '-c', 'echo $TEXT')) === 'first\n')
  const source = await inPod(
    'get',
    'pod',
    pod,
    '-o',
    'jsonpath={.metadata.annotations.kubernetes\\.io/config\\.source} {.metadata.ownerReferences[0].kind}',
  )
  assert.equal(source, 'file Node')
  // Deleting the mirror pod does not stop the static pod.
  await inPod('delete', 'pod', pod, '--force')
  await eventually(async () => (await inPod('exec', pod, '--', 'sh', '-c', 'echo $TEXT')) === 'first\n')
  await writeFile(path, manifest('second'))
  await eventually(async () => (await inPod('exec', pod, '--', 'sh', '-c', 'echo $TEXT')) === 'second\n')
  await rm(path)
  await eventually(async () => (await inPod('get', 'pods', '-o', 'name')) === '')
})

test('k8ts down removes processes, mounts and files of the cluster', async t => {
  const { folder, kubectl, k8ts } = await up(t)
  await loadImages(folder)
  await addressOfWeb(kubectl)
  const { slot } = JSON.parse(await readFile(join(folder, 'network.json'), 'utf8')) as {
    readonly slot: number
  }
  await k8ts('down')
  await assert.rejects(stat(folder), { code: 'ENOENT' })
  const [links, tables, mounts, processes, cgroups] = await Promise.all([
    run('ip', ['-o', 'link']),
    run('nft', ['list', 'tables']),
    readFile('/proc/self/mountinfo', 'utf8'),
    run('ps', ['-eo', 'args']),
    run('find', ['/sys/fs/cgroup', '-maxdepth', '2', '-name', `k8ts-${slot}`]),
  ])
  assert(!links.stdout.includes(`k8ts${slot}:`), links.stdout)
  assert(!tables.stdout.includes(`k8ts${slot}-`), tables.stdout)
  for (const text of [mounts, processes.stdout]) assert(!text.includes(folder), text)
  assert.equal(cgroups.stdout, '')
})
