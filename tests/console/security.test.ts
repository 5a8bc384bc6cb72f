/** The console against hostile pages, other users of the machine, and users with few rights; with a real API server. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { after, test, type TestContext } from 'node:test'
import * as k8s from '@kubernetes/client-node'
import { secrets } from '#/api/generated/core/v1-resources.ts'
import { Cluster } from '#/testing/testing.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import {
  bearer,
  postToken,
  startConsole,
  tokenOf,
  tokenProtocol,
  type ConsoleClient,
  type RequestParts,
} from './console-client.ts'

const cluster = await Cluster.start({ clock: 'real' })
after(() => cluster.stop())

async function withConsole(t: TestContext): Promise<ConsoleClient> {
  return startConsole(t, { kubeconfig: await cluster.kubeconfig(), folder: await temporaryFolder(t) })
}

/** Every path that must not answer without a session. */
const guarded: readonly (readonly [path: string, parts?: RequestParts])[] = [
  ['/session'],
  ['/session', { method: 'DELETE' }],
  ['/session/link', { method: 'POST' }],
  ['/api-server/api'],
  ['/api-server/api/v1/secrets'],
  ['/api-server/api/v1/namespaces', { method: 'POST', body: '{}' }],
  ['/api-server/api/v1/pods?watch=true'],
  ['/why/pod/web'],
  ['/streams'],
  ['/nothing'],
]

test('a link begins one session with the rights of the kubeconfig', async t => {
  const { server, ask } = await withConsole(t)
  const link = server.newLink()
  assert.match(link, new RegExp(`^http://127\\.0\\.0\\.1:${server.port}/#token=[\\w-]{43}$`))
  const signedIn = await ask('/session', postToken(tokenOf(link)))
  const { sessionToken, ...session } = JSON.parse(signedIn.text)
  assert.equal(signedIn.status, 200)
  assert.equal(session.user, 'kubernetes-admin')
  assert.equal(session.contextNamespace, 'default')
  const listed = await ask('/api-server/api/v1/namespaces', { headers: bearer(sessionToken) })
  assert.equal(JSON.parse(listed.text).kind, 'NamespaceList')
  assert.equal((await ask('/session', postToken(tokenOf(link)))).status, 401, 'the token is used')
  const another = await ask('/session/link', { method: 'POST', headers: bearer(sessionToken) })
  assert.equal((await ask('/session', postToken(JSON.parse(another.text).token))).status, 200)
  await ask('/session', { method: 'DELETE', headers: bearer(sessionToken) })
  assert.equal((await ask('/api-server/api', { headers: bearer(sessionToken) })).status, 401, 'signed out')
})

test('nothing but the page answers without a session', async t => {
  const { ask, server } = await withConsole(t)
  for (const token of [undefined, 'x', tokenOf(server.newLink())]) {
    for (const [path, parts] of guarded) {
      const headers = token === undefined ? {} : bearer(token)
      const answer = await ask(path, { ...parts, headers })
      assert.equal(answer.status, 401, `${parts?.method ?? 'GET'} ${path} with ${token ?? 'no token'}`)
      assert.equal(JSON.parse(answer.text).reason, 'NoSession')
    }
  }
  // The key of other programs of the user opens nothing else.
  for (const [path, parts] of guarded.filter(([path]) => path !== '/session/link')) {
    assert.equal((await ask(path, { ...parts, headers: bearer(server.linkKey) })).status, 401, path)
  }
})

test('attempts to guess a link are limited, and only JSON is accepted', async t => {
  const { ask, server } = await withConsole(t)
  const token = tokenOf(server.newLink())
  const form = await ask('/session', { ...postToken(token), headers: { 'content-type': 'text/plain' } })
  assert.equal(form.status, 400)
  const large = await ask('/session', postToken('x'.repeat(10_000)))
  assert.equal(large.status, 400)
  const statuses = new Set<number>()
  for (let index = 0; index < 40; index++)
    statuses.add((await ask('/session', postToken(`guess-${index}`))).status)
  assert.deepEqual([...statuses], [401, 429])
})

test('other hosts, origins and sites are refused, with a session too', async t => {
  const { ask, server, signIn } = await withConsole(t)
  const session = bearer(await signIn())
  const foreign: readonly Readonly<Record<string, string>>[] = [
    { host: `rebound.example:${server.port}` },
    { host: '127.0.0.1:1' },
    { origin: 'http://evil.example' },
    { origin: `http://localhost:${server.port}` },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
    { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' },
  ]
  for (const headers of foreign) {
    for (const [path, parts] of [...guarded, ['/', {}] as const]) {
      const answer = await ask(path, { ...parts, headers: { ...session, ...headers } })
      assert.equal(answer.status, 403, `${path} ${JSON.stringify(headers)}`)
    }
    const link = postToken(tokenOf(server.newLink()))
    assert.equal((await ask('/session', { ...link, headers: { ...link.headers, ...headers } })).status, 403)
  }
  assert.equal((await ask('/session', { headers: session })).status, 200)
})

test('all answers have headers against other sites, and set no cookies', async t => {
  const { ask, signIn } = await withConsole(t)
  const session = bearer(await signIn())
  const requests: readonly (readonly [string, RequestParts?])[] = [
    ['/'],
    ['/main-ABCDEFGH.js'],
    ['/other-ABCDEFGH.js'],
    ['/', { method: 'POST' }],
    ['/session'],
    ['/session', postToken('x')],
    ['/', { headers: { host: 'rebound.example' } }],
    ['/session', { headers: session }],
    ['/api-server/api', { headers: session }],
    ['/api-server/api/v1/namespaces/none', { headers: session }],
    ['/why/pod/web', { headers: session }],
  ]
  for (const [path, parts] of requests) {
    const { headers } = await ask(path, parts)
    assert.match(
      String(headers['content-security-policy']),
      /^default-src 'none';.*frame-ancestors 'none'/,
      path,
    )
    assert.doesNotMatch(String(headers['content-security-policy']), /unsafe|\*/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin')
    assert.equal(headers['access-control-allow-origin'], undefined)
    assert.equal(headers['set-cookie'], undefined)
    const isHashed = path === '/main-ABCDEFGH.js'
    assert.match(String(headers['cache-control']), isHashed ? /immutable/ : /^no-store$/, path)
  }
})

test('the nonce of the page is new for each answer', async t => {
  const { ask } = await withConsole(t)
  const nonces = new Set<string>()
  for (let index = 0; index < 3; index++) {
    const { headers, text } = await ask('/')
    const nonce = /content="([\w-]{22})"/.exec(text)?.[1] ?? ''
    assert.ok(String(headers['content-security-policy']).includes(`style-src 'self' 'nonce-${nonce}'`))
    nonces.add(nonce)
  }
  assert.equal(nonces.size, 3)
})

test('no path leads out of the folder of the page', async t => {
  const { ask, signIn } = await withConsole(t)
  const headers = bearer(await signIn())
  const paths = [
    '/../secret-ABCDEFGH.js',
    '/..%2fsecret-ABCDEFGH.js',
    '/%2e%2e/secret-ABCDEFGH.js',
    '/..\\secret-ABCDEFGH.js',
    '//secret-ABCDEFGH.js',
    '/page/../../secret-ABCDEFGH.js',
    '/index.html',
    '/main-ABCDEFGH.js%00',
    '/inputs.json',
  ]
  for (const path of paths) {
    const answer = await ask(path, { headers })
    assert.equal(answer.status, 404, path)
    assert.doesNotMatch(answer.text, /secret'/)
  }
  for (const path of ['/../../etc', '/api/%2e%2e/..', '/api/../../x', '/.%2E/x']) {
    assert.equal((await ask(`/api-server${path}`, { headers })).status, 400, path)
  }
})

test('headers of the browser do not change the user', async t => {
  const { ask, signIn } = await withConsole(t)
  const session = bearer(await signIn())
  const review = await ask('/api-server/apis/authentication.k8s.io/v1/selfsubjectreviews', {
    method: 'POST',
    headers: {
      ...session,
      'content-type': 'application/json',
      'impersonate-user': 'eve',
      'impersonate-group': 'eves',
      'impersonate-uid': '7',
      'impersonate-extra-scopes': 'all',
      'x-remote-user': 'eve',
      'x-remote-group': 'system:masters',
      'cookie': 'a=b',
      'proxy-authorization': 'Basic ZXZlOmV2ZQ==',
    },
    body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
  })
  assert.equal(review.status, 201)
  assert.equal(JSON.parse(review.text).status.userInfo.username, 'kubernetes-admin')
})

/** A kubeconfig of a service account without any binding. */
async function restrictedKubeconfig(path: string): Promise<string> {
  await cluster.client.create(secrets, {
    metadata: { name: 'keys', namespace: 'default' },
    stringData: { key: 'very secret' },
  })
  const config = new k8s.KubeConfig()
  config.loadFromString(await readFile(await cluster.kubeconfig(), 'utf8'))
  const user = { ...config.getCurrentUser()!, impersonateUser: 'system:serviceaccount:default:visitor' }
  config.loadFromOptions({
    clusters: config.getClusters(),
    users: [user],
    contexts: config.getContexts(),
    currentContext: config.getCurrentContext(),
  })
  await writeFile(path, config.exportConfig())
  return path
}

test('a user without rights sees nothing more than with kubectl', async t => {
  const folder = await temporaryFolder(t)
  const kubeconfig = await restrictedKubeconfig(join(folder, 'visitor.conf'))
  const { ask, signIn } = await startConsole(t, { kubeconfig, folder })
  const token = await signIn()
  const headers = bearer(token)
  const session = JSON.parse((await ask('/session', { headers })).text)
  assert.equal(session.user, 'system:serviceaccount:default:visitor')
  const secretsPath = '/api/v1/namespaces/default/secrets'
  for (const path of [secretsPath, `${secretsPath}/keys`, `${secretsPath}?watch=true`, '/api/v1/nodes']) {
    const answer = await ask(`/api-server${path}`, { headers })
    assert.equal(answer.status, 403, path)
    assert.equal(JSON.parse(answer.text).reason, 'Forbidden')
    assert.doesNotMatch(answer.text, /very secret/)
  }
  const diagnosis = await ask('/why/secret/keys?namespace=default', { headers })
  assert.equal(diagnosis.status, 403)
  const raised = { ...headers, 'impersonate-user': 'kubernetes-admin', 'impersonate-group': 'system:masters' }
  assert.equal((await ask(`/api-server${secretsPath}`, { headers: raised })).status, 403)
})

interface UpgradeAttempt {
  readonly path: string
  readonly protocols?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

/** The status with which a WebSocket handshake is answered. */
async function upgradeStatus(
  port: number,
  { path, protocols = [], headers = {} }: UpgradeAttempt,
): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const lines = {
    'Host': `127.0.0.1:${port}`,
    'Connection': 'Upgrade',
    'Upgrade': 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': Buffer.alloc(16).toString('base64'),
    ...(protocols.length > 0 && { 'Sec-WebSocket-Protocol': protocols.join(', ') }),
    ...headers,
  }
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${path} HTTP/1.1\r\n${head.join('')}\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return /^HTTP\/1\.1 (\d+)/.exec(answer.toString())?.[1] ?? ''
}

test('a WebSocket needs a session and the origin of the page', async t => {
  const { server, signIn } = await withConsole(t)
  const token = await signIn()
  const check = async (attempt: UpgradeAttempt, expected: string): Promise<void> => {
    assert.equal(await upgradeStatus(server.port, attempt), expected, JSON.stringify(attempt))
  }
  const streams = 'streams.console.k8ts.io'
  const own = tokenProtocol(token)
  await check({ path: '/streams', protocols: [streams, own] }, '101')
  await check({ path: '/streams', protocols: [streams] }, '401')
  await check({ path: '/streams', protocols: [streams, tokenProtocol('x')] }, '401')
  await check(
    { path: '/streams', protocols: [streams, own], headers: { Origin: 'http://evil.example' } },
    '403',
  )
  await check({ path: '/streams', protocols: [streams, own], headers: { Host: 'evil.example' } }, '403')
  await check({ path: `/streams?token=${token}`, protocols: [streams] }, '401')
  const exec = '/api-server/api/v1/namespaces/default/pods/none/exec?command=sh'
  await check({ path: exec, protocols: ['v5.channel.k8s.io'] }, '401')
  await check({ path: exec, protocols: ['v5.channel.k8s.io', own] }, '404')
  await check({ path: exec, protocols: ['v5.channel.k8s.io', own], headers: { Upgrade: 'h2c' } }, '401')
})
