/** The commands of kubeadm's life cycle against an API server with TLS: what one host writes, another reads. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { test, type TestContext } from 'node:test'
import { command as certs } from '#/commands/certs.ts'
import { command as config } from '#/commands/config.ts'
import { command as init } from '#/commands/init.ts'
import { command as joinCommand } from '#/commands/join.ts'
import { command as kubeconfig } from '#/commands/kubeconfig.ts'
import { command as token } from '#/commands/token.ts'
import type { Command } from '#/command-line/command.ts'
import { parseBootstrapToken } from '#/kubeadm/bootstrap-token.ts'
import { caCertHash } from '#/kubeadm/ca-cert-hash.ts'
import { discoverCluster } from '#/kubeadm/discover-cluster.ts'
import { connectHttp, nodePlatform } from '#/platform/node.ts'
import { Cluster } from '#/testing/testing.ts'
import { temporaryFolder } from './temporary-folder.ts'

async function run(command: Command, ...parameters: readonly string[]): Promise<string> {
  let written = ''
  const code = await command.run(parameters, {
    write: text => void (written += text),
    writeError: text => void (written += text),
  })
  assert.equal(code, 0, written)
  return written
}

async function startCluster(t: TestContext) {
  const cluster = await Cluster.start({ clock: 'real' })
  t.after(() => cluster[Symbol.asyncDispose]())
  return { kubeconfig: ['--kubeconfig', await cluster.kubeconfig()] }
}

test('tokens are created, listed and deleted by command', async t => {
  const { kubeconfig } = await startCluster(t)
  assert.match(await run(token, 'generate'), /^[a-z0-9]{6}\.[a-z0-9]{16}\n$/)
  assert.equal(
    await run(
      token,
      'create',
      'abcdef.0123456789abcdef',
      '--description',
      'rack 1',
      '--ttl',
      '2h',
      ...kubeconfig,
    ),
    'abcdef.0123456789abcdef\n',
  )
  const table = await run(token, 'list', ...kubeconfig)
  assert.match(table, /^TOKEN {21}TTL {9}EXPIRES {16}USAGES {19}DESCRIPTION {48}EXTRA GROUPS\n/)
  assert.match(
    table,
    /\nabcdef\.0123456789abcdef {3}1h {10}\S+ {3}authentication,signing {3}rack 1 +system:boot\S+\n$/,
  )
  const listed = JSON.parse(await run(token, 'list', '-o', 'json', ...kubeconfig)) as {
    readonly token?: string
  }
  assert.equal(listed.token, 'abcdef.0123456789abcdef')
  assert.equal(await run(token, 'delete', 'abcdef', ...kubeconfig), 'bootstrap token "abcdef" deleted\n')
  assert.equal(await run(token, 'list', ...kubeconfig), '')
  await assert.rejects(run(token, 'create', 'x', ...kubeconfig), /x is no bootstrap token/)
  await assert.rejects(
    run(token, 'create', '--certificate-key', 'x', ...kubeconfig),
    /without --print-join-command/,
  )
})

test('a host finds the cluster with the printed join command', async t => {
  const { kubeconfig } = await startCluster(t)
  const folder = await temporaryFolder(t)
  await run(init, 'phase', 'bootstrap-token', ...kubeconfig)
  await run(init, 'phase', 'upload-config', ...kubeconfig)
  await run(init, 'phase', 'addon', ...kubeconfig)
  const printed = await run(token, 'create', '--print-join-command', ...kubeconfig)
  assert.match(printed, /^k8ts join \S+ --token \S+ --discovery-token-ca-cert-hash sha256:\w+\n$/)
  const words = printed.trim().split(' ').slice(2)
  const [endpoint = '', , text = '', , hash = ''] = words
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const options = { platform, connect: connectHttp, endpoint, timeoutMs: 60_000 }
  const discovered = await discoverCluster({
    ...options,
    token: parseBootstrapToken(text)!,
    caCertHashes: [hash],
  })
  assert.equal(discovered.server, `https://${endpoint}`)
  assert.equal(caCertHash(discovered.caCertificates), hash)
  // The cluster for tests has no authenticator for bootstrap tokens, so the command ends after the discovery.
  const discovery = run(joinCommand, 'phase', 'discovery', ...words, '--data-dir', folder)
  await assert.rejects(
    discovery,
    /the bootstrap token is not accepted, it may have expired: run k8ts token create/,
  )
  assert.deepEqual(await readdir(folder), [])
  const wrong = [...words.slice(0, -1), `sha256:${'0'.repeat(64)}`]
  await assert.rejects(run(joinCommand, 'phase', 'discovery', ...wrong, '--data-dir', folder), /are pinned/)
})

test('files of a control plane are made, listed and renewed', async t => {
  const folder = await temporaryFolder(t)
  const at = ['--data-dir', folder]
  const advertised = ['--apiserver-advertise-address', '10.0.0.1', '--node-name', 'cp1']
  await run(init, 'phase', 'certs', ...at, ...advertised)
  await run(init, 'phase', 'kubeconfig', 'all', ...at, ...advertised)
  const table = await run(certs, 'check-expiration', ...at)
  assert.match(table, /^CERTIFICATE +EXPIRES +RESIDUAL TIME +CERTIFICATE AUTHORITY +EXTERNALLY MANAGED\n/)
  assert.doesNotMatch(table, /MISSING/)
  assert.match(table, /\napiserver +[A-Z][a-z]{2} \d\d, \d{4} \d\d:\d\d UTC +364d +ca +no {6}\n/)
  assert.match(table, /\nca +.* 9y +no {6}\n/)
  const before = await readFile(join(folder, 'pki/apiserver.crt'), 'utf8')
  assert.match(
    await run(certs, 'renew', 'apiserver', ...at),
    /^certificate for serving the Kubernetes API renewed\n/,
  )
  assert.notEqual(await readFile(join(folder, 'pki/apiserver.crt'), 'utf8'), before)
  await assert.rejects(run(certs, 'renew', 'nonsense', ...at), /NAME is one of admin\.conf, apiserver,/)
  const jane = await run(kubeconfig, 'user', '--client-name', 'jane', ...at)
  assert.match(jane, /server: https:\/\/10\.0\.0\.1:6443/)
  const defaults = join(folder, 'init.yaml')
  await writeFile(defaults, await run(config, 'print', 'init-defaults', ...at))
  assert.equal(await run(config, 'validate', '--config', defaults), 'ok\n')
})
