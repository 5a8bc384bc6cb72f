import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import {
  readWebhookCredentials,
  readWebhookKubeconfig,
  type WebhookCredentials,
  type WebhookTarget,
} from './webhook-kubeconfig.ts'

const base64 = (text: string): string => Buffer.from(text).toString('base64')

function kubeconfig(cluster: object, user: object = {}): string {
  return JSON.stringify({
    'clusters': [{ name: 'c', cluster }],
    'users': [
      { name: 'u', user },
      { name: 'other', user: { token: 't2' } },
    ],
    'contexts': [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  })
}

async function withFile<T>(
  content: string,
  read: (platform: ReturnType<Simulation['host']>, path: string) => Promise<T>,
): Promise<T> {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('a')
  await simulation.run(host.files.makeFolder('/etc/hook'))
  await simulation.run(host.files.write('/etc/hook/ca.crt', 'authority'))
  await simulation.run(host.files.write('/etc/hook/token', ' secret\n'))
  await simulation.run(host.files.write('/etc/hook/conf', content))
  return simulation.run(read(host, '/etc/hook/conf'))
}

test('a webhook kubeconfig gives the URL, the CA and the client credentials', async () => {
  const check = async (content: string, expected: WebhookTarget): Promise<void> => {
    const remote = await withFile(content, readWebhookKubeconfig)
    const text = (bytes: unknown): unknown =>
      bytes instanceof Uint8Array ? Buffer.from(bytes).toString() : bytes
    const tls = Object.fromEntries(
      Object.entries(remote.tls ?? {}).map(([name, value]) => [name, text(value)]),
    )
    assert.deepEqual({ ...remote, tls }, expected)
  }
  const url = 'https://hook.example.com:8443/ask'
  await check(kubeconfig({ server: url }), { url, tls: {}, headers: {} })
  await check(kubeconfig({ 'server': url, 'certificate-authority': 'ca.crt' }, { tokenFile: 'token' }), {
    url,
    tls: { ca: 'authority' },
    headers: { authorization: 'Bearer secret' },
  })
  const pair = { 'client-certificate-data': base64('cert'), 'client-key-data': base64('key') }
  const server = { 'server': url, 'tls-server-name': 'n', 'certificate-authority-data': base64('ca') }
  await check(kubeconfig(server, pair), {
    url,
    tls: { ca: 'ca', serverName: 'n', cert: 'cert', key: 'key' },
    headers: {},
  })
})

test('a webhook kubeconfig without a server or with an exec plugin is rejected', async () => {
  await assert.rejects(
    withFile('{}', readWebhookKubeconfig),
    /kubeconfig \/etc\/hook\/conf has no current context/,
  )
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'x', interactiveMode: 'Never' }
  await assert.rejects(
    withFile(kubeconfig({ server: 'https://a' }, { exec }), readWebhookKubeconfig),
    /not supported here/,
  )
})

test('webhook credentials contain all users of the file', async () => {
  const { users, current }: WebhookCredentials = await withFile(
    kubeconfig({}, { token: 't1' }),
    readWebhookCredentials,
  )
  assert.equal(current, 'u')
  const headers = async (name: string): Promise<unknown> => {
    return (await users.get(name)!.current(new AbortController().signal)).headers
  }
  assert.deepEqual(await headers('u'), { authorization: 'Bearer t1' })
  assert.deepEqual(await headers('other'), { authorization: 'Bearer t2' })
})
