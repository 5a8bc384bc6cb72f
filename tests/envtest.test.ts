import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { once } from 'node:events'
import { before, test } from 'node:test'
import * as k8s from '@kubernetes/client-node'
import { startEnvironment, type Environment } from './envtest-environment.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { script } from './up/process.ts'
import { waitUntil } from './wait-until.ts'

const deployments = '/apis/apps/v1/namespaces/default/deployments'
const labels = { app: 'web' }
const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web' }] } }
const web = { metadata: { name: 'web' }, spec: { replicas: 3, selector: { matchLabels: labels }, template } }

async function read<T>({ ask }: Environment, path: string, body?: unknown): Promise<T> {
  return JSON.parse((await ask(path, body)).text) as T
}

/** Shared by the tests, as by all packages of a Go module. */
let assets: string

before(async t => {
  const folder = join(await temporaryFolder(t as never), 'assets')
  const { stdout, stderr, status } = spawnSync(script, ['envtest', '--dir', folder], { encoding: 'utf8' })
  assert.deepEqual([status, stderr], [0, ''])
  assert.equal(stdout, `${folder}\n`)
  assets = folder
})

test('envtest finds the flags of the executables in their help', () => {
  const help = (program: string): string =>
    spawnSync(join(assets, program), ['--help'], { encoding: 'utf8' }).stdout
  assert.match(help('etcd'), /it only answers health checks/)
  assert.match(help('etcd'), /^\s*--unsafe-no-fsync\b/m)
  assert.match(help('kube-apiserver'), /^\s*--secure-port\b/m)
  assert.doesNotMatch(help('kube-apiserver'), /^\s*--insecure-port\b/m)
})

test('the executables start as envtest starts them, serve the API and end on SIGTERM', async t => {
  const environment = await startEnvironment(t, { assets, folder: await temporaryFolder(t) })
  const created = await environment.ask('/api/v1/namespaces', { metadata: { name: 'shop' } })
  assert.equal(created.status, 201, created.text)
  const configMap = { metadata: { name: 'settings' }, data: { colour: 'red' } }
  assert.equal((await environment.ask('/api/v1/namespaces/shop/configmaps', configMap)).status, 201)
  const got = await read<k8s.V1ConfigMap>(environment, '/api/v1/namespaces/shop/configmaps/settings')
  assert.deepEqual(got.data, { colour: 'red' })
  assert.equal((await environment.askAnonymously('/api/v1/namespaces')).status, 403)

  const pod = { metadata: { name: 'a' }, spec: { containers: [{ name: 'a', image: 'a' }] } }
  const pods = '/api/v1/namespaces/shop/pods'
  assert.equal((await environment.ask(pods, pod)).status, 201, 'a pod needs no service account')
  const service = await read<k8s.V1Service>(environment, '/api/v1/namespaces/default/services/kubernetes')
  assert.equal(service.spec?.clusterIP, '10.0.0.1')
  assert.deepEqual(await environment.stop(), [0, 0])
})

test('service account tokens are signed with the given key and issuer', async t => {
  const environment = await startEnvironment(t, { assets, folder: await temporaryFolder(t) })
  const account = { metadata: { name: 'robot' } }
  await environment.ask('/api/v1/namespaces/default/serviceaccounts', account)
  const requested = '/api/v1/namespaces/default/serviceaccounts/robot/token'
  const { token } = (await read<k8s.AuthenticationV1TokenRequest>(environment, requested, { spec: {} }))
    .status!
  const claims: unknown = JSON.parse(Buffer.from(token!.split('.')[1]!, 'base64url').toString())
  assert.partialDeepStrictEqual(claims, { iss: `${environment.url}/` })
  const reviews = '/apis/authentication.k8s.io/v1/tokenreviews'
  const { status } = await read<k8s.V1TokenReview>(environment, reviews, { spec: { token } })
  assert.equal(status?.user?.username, 'system:serviceaccount:default:robot')
  assert.deepEqual(await environment.stop(), [0, 0])
})

test('K8TS_ENVTEST adds controllers, scheduler and nodes, which are ready when the server is healthy', async t => {
  const environment = await startEnvironment(t, {
    assets,
    folder: await temporaryFolder(t),
    environment: { K8TS_ENVTEST: 'controllers,scheduler,nodes=2' },
  })
  const { items } = await read<k8s.V1NodeList>(environment, '/api/v1/nodes')
  assert.deepEqual(
    items.map(({ metadata, spec }) => [metadata?.name, spec?.taints]),
    [
      ['node-1', undefined],
      ['node-2', undefined],
    ],
  )
  await environment.ask(deployments, web)
  await waitUntil(async () => {
    const { status } = await read<k8s.V1Deployment>(environment, `${deployments}/web`)
    return status?.availableReplicas === 3
  })
  assert.deepEqual(await environment.stop(), [0, 0])
})

test('without K8TS_ENVTEST nothing acts on objects, as with kube-apiserver alone', async t => {
  const flags = [
    '--feature-gates=AllAlpha=true',
    '--runtime-config',
    'api/all=true',
    '--profiling=false',
    '-v=1',
  ]
  const environment = await startEnvironment(t, { assets, folder: await temporaryFolder(t), flags })
  await environment.ask(deployments, web)
  assert.deepEqual((await read<k8s.V1Deployment>(environment, `${deployments}/web`)).status, {})
  for (const resource of ['nodes', 'serviceaccounts', 'pods']) {
    const { items } = await read<k8s.V1PodList>(environment, `/api/v1/${resource}`)
    assert.deepEqual(items, [], resource)
  }
  assert.deepEqual(await environment.stop(), [0, 0])
})

test('an invalid start is rejected with the reason', () => {
  const check = (program: string, parameters: string, complaint: RegExp, components = ''): void => {
    const { stderr, status } = spawnSync(join(assets, program), parameters.split(' '), {
      encoding: 'utf8',
      env: { ...process.env, K8TS_ENVTEST: components },
    })
    assert.notEqual(status, 0, parameters)
    assert.match(stderr, complaint)
  }
  check('kube-apiserver', '--insecure-port=0', /^kube-apiserver: unknown flag: --insecure-port\n$/)
  check('kube-apiserver', '--secure-port=x', /^kube-apiserver: --secure-port x: must be a port\n$/)
  check('kube-apiserver', '--tls-cert-file=/a', /--tls-private-key-file must be specified together/)
  check('kube-apiserver', '--secure-port=0', /K8TS_ENVTEST=nodes: nodes must be controllers, /, 'nodes')
  check('kube-apiserver', '--secure-port=0', /K8TS_ENVTEST=nodes=1: nodes require controllers/, 'nodes=1')
  check('etcd', '--listen-client-urls=unix://x', /^etcd: --listen-client-urls unix:\/\/x: must be an http/)
  check('etcd', '--listen-client-urls=https://127.0.0.1:0', /requires --cert-file\n$/)
})

test('kubectl is the one of k8ts', () => {
  const { status, stdout } = spawnSync(join(assets, 'kubectl'), ['version', '--client'], { encoding: 'utf8' })
  assert.equal(status, 0)
  assert.match(stdout, /^Client Version: v1\.36\./)
})

test('k8ts testserver --json prints one line, and ends with its standard input', async t => {
  const child = spawn(script, ['testserver', '--json', '--nodes', '2'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: await temporaryFolder(t) },
  })
  t.after(() => child.kill('SIGKILL'))
  const [line] = await once(child.stdout, 'data')
  const { kubeconfig, server } = JSON.parse(String(line)) as Record<'kubeconfig' | 'server', string>
  const config = new k8s.KubeConfig()
  config.loadFromFile(kubeconfig)
  assert.equal(config.getCurrentCluster()?.server, server)
  const nodes = await config.makeApiClient(k8s.CoreV1Api).listNode()
  assert.deepEqual(
    nodes.items.map(({ metadata }) => metadata?.name),
    ['node-1', 'node-2'],
  )
  const folder = dirname(kubeconfig)
  assert.equal((await stat(folder)).mode & 0o777, 0o700)
  child.stdin.end()
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
  assert.deepEqual(await readdir(dirname(folder)), [], 'the temporary folder is empty')
})
