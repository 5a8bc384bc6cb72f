/**
 * Credentials and contents of secrets never appear in the server's log or audit log, at any level and after
 * any error (CVE-2019-11250, CVE-2020-8563, CVE-2021-25743).
 */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { inspect, stripVTControlCharacters } from 'node:util'
import type { AdmissionPluginFactory } from '#/apiserver/admission.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import { Audit } from '#/apiserver/audit.ts'
import { nodePlatform } from '#/platform/node.ts'
import type { Log } from '#/platform/platform.ts'
import { MemoryStore } from '#/store/memory.ts'
import { apiRequest, type RequestParts } from './api-request.ts'
import { signingKey } from './keys.ts'

const accounts = '/api/v1/namespaces/default/serviceaccounts'
const secrets = '/api/v1/namespaces/default/secrets'

/** Records log lines of every level, including all properties of errors. */
function recorder(lines: string[], fields: object = {}): Log {
  const note = (message: string, more: object = {}): void => {
    lines.push(inspect([message, fields, more], { depth: null, maxStringLength: null, maxArrayLength: null }))
  }
  return {
    debug: note,
    info: note,
    warn: note,
    error: note,
    with: more => recorder(lines, { ...fields, ...more }),
  }
}

/** An admission plugin with an internal error. */
const failing: ReturnType<AdmissionPluginFactory>[number] = {
  name: 'Failing',
  validate: ({ name, object }) => {
    if (name.includes('failing')) throw new Error('this cannot be', { cause: { kind: object?.kind } })
  },
}

type Send = (
  line: string,
  parts?: RequestParts,
) => Promise<{ readonly status: number; readonly text: string }>

async function start(t: TestContext) {
  const logged: string[] = []
  const audited: string[] = []
  const platform = { ...nodePlatform({ log: { level: 'error', format: 'text' } }), log: recorder(logged) }
  const store = await MemoryStore.open({ platform })
  const audit = new Audit({
    platform,
    policy: { rules: [{ level: 'RequestResponse' }] },
    backends: [
      {
        mode: 'batch',
        record: line => void audited.push(line),
        run: async () => undefined,
      },
    ],
  })
  const server = await ApiServer.start({
    platform,
    store,
    build: { version: '0.0.0' },
    audit,
    admission: () => [failing],
    authentication: {
      serviceAccounts: { url: 'https://issuer.example', signingKey },
      bootstrapTokens: true,
      tokenFile: 'StaticToken-4711,stan,1,"system:masters"\n',
      passwordFile: 'Password-4711,paul,2,"system:masters"\n',
    },
  })
  t.after(async () => {
    await server.stop()
    await store[Symbol.asyncDispose]()
  })
  const send: Send = async (line, parts = {}) => {
    const [method = '', url = ''] = line.split(' ')
    const { status, body, headers } = await server.handle(apiRequest(method, url, parts))
    const text = body?.type === 'value' ? Buffer.concat(body.bytes()).toString() : ''
    return { status, text: `${text}${JSON.stringify(headers ?? {})}` }
  }
  return { send, logged, audited }
}

/** Also searches for encoded forms, and for parts of a token. */
function piecesOf(hidden: string): readonly string[] {
  const forms = [
    hidden,
    Buffer.from(hidden).toString('base64').replace(/=+$/, ''),
    encodeURIComponent(hidden),
  ]
  return hidden.includes('.') ? [...forms, ...hidden.split('.').slice(1)] : forms
}

const bootstrap = 'abcdef.0123456789abcdef'
const content = 'Content-4711-of-a-secret'
const encoded = Buffer.from(content).toString('base64')

/** Sends every credential to several paths, and returns the error responses. */
async function showCredentials(send: Send, token: string, bad: string): Promise<readonly string[]> {
  const basic = (password: string): string => `Basic ${Buffer.from(`paul:${password}`).toString('base64')}`
  const bearers = [token, bad, bootstrap, 'StaticToken-4711', 'WrongToken-4711'].map(each => `Bearer ${each}`)
  const authorizations = [
    ...bearers,
    basic('Password-4711'),
    basic('Typo-4711'),
    `Digest ${token}`,
    `bearer  ${token}`,
  ]
  const paths = ['/api/v1/pods', '/version', `${secrets}/opaque`, '/nothing', '/api/v1/%zz']
  const answers: string[] = []
  for (const authorization of authorizations) {
    for (const path of paths) {
      const { status, text } = await send(`GET ${path}`, { headers: { authorization }, peer: {} })
      if (status >= 400) answers.push(text)
    }
  }
  const protocol = `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`
  const socket = {
    'connection': 'upgrade',
    'upgrade': 'websocket',
    'sec-websocket-protocol': `${protocol}, v4.channel.k8s.io`,
  }
  for (const path of paths) await send(`GET ${path}`, { headers: socket, peer: {} })
  const proxied = {
    'x-remote-user': 'root',
    'x-remote-group': 'system:masters',
    'authorization': `Bearer ${token}`,
  }
  await send('GET /api/v1/pods', { headers: proxied, peer: {} })
  return answers
}

/** Writes of secrets that fail because of the client or the server. */
function failingWrites(token: string): readonly (readonly [string, unknown, string?])[] {
  return [
    [`POST ${secrets}`, { metadata: { name: 'failing' }, stringData: { content } }],
    [`POST ${secrets}`, { metadata: { name: 'opaque' }, stringData: { content } }],
    [`POST ${secrets}`, { metadata: { name: 'Bad Name' }, stringData: { content } }],
    [`POST ${secrets}`, { metadata: { name: 'a' }, stringData: { 'bad key!': content } }],
    [`POST ${secrets}`, { metadata: { name: 'a' }, data: { content } }],
    [`POST ${secrets}`, { metadata: { name: 'a' }, data: { content: { content } } }],
    [`POST ${secrets}`, { metadata: { name: 'a' }, data: [content] }],
    [`POST ${secrets}`, `{"metadata":{"name":"a"},"stringData":{"content":"${content}",}}`],
    [`POST ${secrets}`, `metadata: {name: a}\nstringData: {content: ${content}\n`, 'application/yaml'],
    [`POST ${secrets}`, `{"metadata":{"name":"a"},"stringData":{"content":"${content}"}`, 'text/plain'],
    [
      `POST ${secrets}`,
      { metadata: { name: 'a' }, type: 'kubernetes.io/tls', stringData: { 'tls.crt': content } },
    ],
    [
      `POST ${secrets}`,
      {
        metadata: { name: 'a' },
        type: 'kubernetes.io/dockerconfigjson',
        stringData: { '.dockerconfigjson': content },
      },
    ],
    [`PATCH ${secrets}/opaque`, { stringData: { content: [content] } }, 'application/merge-patch+json'],
    [
      `PATCH ${secrets}/opaque`,
      [{ op: 'test', path: '/data/content', value: content }],
      'application/json-patch+json',
    ],
    [
      `PATCH ${secrets}/opaque`,
      [{ op: 'test', path: '/data/content', value: encoded }],
      'application/json-patch+json',
    ],
    [
      `PATCH ${secrets}/opaque?fieldManager=x`,
      { data: { content: encoded } },
      'application/apply-patch+yaml',
    ],
    [
      `PUT ${secrets}/opaque`,
      { metadata: { name: 'opaque', resourceVersion: '1' }, stringData: { content } },
    ],
    [`DELETE ${secrets}/opaque`, { kind: 'DeleteOptions', apiVersion: 'v1', content }],
    [`POST ${accounts}/web/token`, { spec: { audiences: [1] }, token }],
    [`POST ${accounts}/failing/token`, { spec: {} }],
    ['POST /apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: { token } } }],
    ['POST /apis/authentication.k8s.io/v1/tokenreviews', `{"spec":{"token":"${token}"`],
  ]
}

test('credentials and secret data appear in no log', async t => {
  const { send, logged, audited } = await start(t)
  const made = async (path: string, body: object): Promise<string> => {
    const { status, text } = await send(`POST ${path}`, { body })
    assert.equal(status, 201, text)
    return text
  }
  await made(accounts, { metadata: { name: 'web' } })
  const answer = await made(`${accounts}/web/token`, { spec: {} })
  const token = /"token":"([^"]+)"/.exec(answer)![1]!
  const bad = `${token.slice(0, -4)}AAAA`
  const hidden = [
    token,
    bad,
    bootstrap,
    content,
    'StaticToken-4711',
    'WrongToken-4711',
    'Password-4711',
    'Typo-4711',
  ]

  await made(secrets, { metadata: { name: 'opaque' }, stringData: { content } })
  await made(secrets, { metadata: { name: 'encoded' }, data: { content: encoded } })
  const tokenData = {
    'token-id': 'abcdef',
    'token-secret': '0123456789abcdef',
    'usage-bootstrap-authentication': 'true',
  }
  await made('/api/v1/namespaces/kube-system/secrets', {
    metadata: { name: 'bootstrap-token-abcdef' },
    type: 'bootstrap.kubernetes.io/token',
    stringData: tokenData,
  })
  await made('/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token } })
  await made('/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: bad } })

  const answers = await showCredentials(send, token, bad)
  for (const [line, body, type = 'application/json'] of failingWrites(token)) {
    await send(line, { body: body as object, headers: { 'content-type': type } })
  }

  assert.ok(audited.length > 100 && logged.length > 10, `${audited.length} events, ${logged.length} lines`)
  const written = { log: logged, audit: audited, answer: answers }
  for (const [where, lines] of Object.entries(written)) {
    for (const line of lines.map(stripVTControlCharacters)) {
      for (const piece of hidden.flatMap(piecesOf)) {
        assert.ok(!line.includes(piece), `${where} has ${piece}:\n${line.slice(0, 2_000)}`)
      }
      assert.doesNotMatch(line, /authorization["']?: ['"](?:Bearer|Basic)/i, where)
    }
  }
})
