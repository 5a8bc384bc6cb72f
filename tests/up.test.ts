import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from './temporary-folder.ts'
import { run, script, stop, textOf, up } from './up/process.ts'

const namespaces = '/api/v1/namespaces'

test('k8ts up serves the API, keeps its state through SIGTERM and SIGKILL, and ends watches when it stops', async t => {
  const folder = join(await temporaryFolder(t), 'data')
  const first = await up(t, folder)
  assert.match(
    first.output(),
    /^certificates .*\n[^]*^listening at https:\/\/127\.0\.0\.1:\d+\n[^]*^ready in \d/m,
  )
  assert.equal((await first.ask('/readyz')).text, 'ok')
  assert.match((await first.ask('/metrics')).text, /^process_resident_memory_bytes [\d.e+]+$/m)
  const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
  assert.equal((await first.ask(`${bindings}/kubeadm:apiserver-kubelet-client`)).status, 200)
  const headers = { 'content-type': 'application/json' }
  const created = await first.ask(namespaces, { method: 'POST', headers }, '{"metadata": {"name": "mine"}}')
  assert.equal(created.status, 201, created.text)
  const watch = await first.open(`${namespaces}?watch=1`)
  assert.equal(await stop(first, 'SIGTERM'), 0)
  assert.match(await textOf(watch), /"mine"/)
  assert.ok(watch.complete, 'the watch is ended, not cut off after the grace period')
  for (const signal of ['SIGKILL', 'SIGINT'] as const) {
    const again = await up(t, folder)
    assert.equal((await again.ask(`${namespaces}/mine`)).status, 200)
    await stop(again, signal)
  }
})

test('cluster files have mode 0600, and anonymous clients may read health only', async t => {
  const folder = await temporaryFolder(t)
  const cluster = await up(t, folder, '--store', 'memory')
  for (const name of ['admin.conf', 'pki/ca.key', 'pki/apiserver.key']) {
    assert.equal((await stat(join(folder, name))).mode & 0o777, 0o600)
  }
  const nobody = { cert: undefined, key: undefined }
  assert.equal((await cluster.ask('/livez', nobody)).status, 200)
  assert.equal((await cluster.ask('/metrics', nobody)).status, 403)
  assert.equal((await cluster.ask(namespaces, nobody)).status, 403)
  await stop(cluster, 'SIGTERM')
})

test('a second cluster on the same folder or port is rejected', async t => {
  const folder = await temporaryFolder(t)
  const cluster = await up(t, join(folder, 'a'), '--store', 'memory')
  const same = run('--no-node', '--data-dir', join(folder, 'a'), '--port', '0')
  assert.equal(same.status, 1)
  assert.match(same.stderr, /^k8ts: .* is in use by another k8ts process: stop it, or set --data-dir\n$/)
  const { port } = cluster.url
  const taken = run('--no-node', '--data-dir', join(folder, 'b'), '--port', port)
  assert.equal(taken.status, 1)
  const complaint = 'port already in use; set --port'
  assert.equal(taken.stderr, `k8ts: cannot listen at 127.0.0.1 port ${port}: ${complaint}\n`)
  assert.equal((await cluster.ask('/readyz')).status, 200)
  await stop(cluster, 'SIGTERM')
})

test('a data folder that cannot be created is rejected', () => {
  const { status, stderr } = run('--no-node', '--data-dir', '/dev/null/data', '--port', '0')
  assert.equal(status, 1)
  assert.match(stderr, /^k8ts: cannot create the data folder \/dev\/null\/data: ENOTDIR: .*\n$/)
})

test('unsupported and contradicting flags exit with 2', () => {
  const check = (line: string, complaint: RegExp): void => {
    const { status, stdout, stderr } = run(...line.split(' ').filter(word => word !== ''))
    assert.deepEqual([status, stdout], [2, ''], line)
    assert.match(stderr, complaint)
  }
  check('--no-node --nodes 3', /^k8ts up: --nodes and --no-node are mutually exclusive\n/)
  check('--no-node --simulated-nodes 3', /--simulated-nodes and --no-node are mutually exclusive/)
  check('--simulated-nodes 0', /--simulated-nodes 0: must be a number from 1 to 9999/)
  check('--no-node --runtime docker', /--runtime docker: must be one of auto, containerd, simulated/)
  check('--no-node --pod-cidr here', /--pod-cidr here: invalid CIDR/)
  check('--no-node --port 70000', /--port 70000: must be a port/)
  check('--no-node --port x', /--port x: must be a port/)
  check('--no-node --bind nowhere', /--bind nowhere: must be an address/)
  check('--no-node --store redis', /--store redis: must be embedded, memory or etcd/)
  check('--no-node --store etcd://x', /--store etcd:\/\/x: must be/)
  check('--no-node --fly', /--fly/)
})

test('k8ts up exits with 0 when its output is closed', async t => {
  const folder = await temporaryFolder(t)
  const child = spawn(script, ['up', '--no-node', '--data-dir', folder, '--port', '0', '--store', 'memory'])
  t.after(() => child.kill('SIGKILL'))
  let errors = ''
  child.stderr.on('data', chunk => (errors += String(chunk)))
  const closed = once(child, 'close')
  child.stdout.once('data', () => child.stdout.destroy())
  assert.deepEqual(await closed, [0, null])
  assert.equal(errors, '')
})

test('SIGTERM stops k8ts up while it waits for etcd', async t => {
  const folder = await temporaryFolder(t)
  const child = spawn(script, [
    'up',
    '--no-node',
    '--data-dir',
    folder,
    '--port',
    '0',
    '--store',
    'etcd://127.0.0.1:1',
  ])
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  for await (const chunk of child.stdout) {
    output += chunk
    if (/^store: etcd at 127\.0\.0\.1:1$/m.test(output)) break
  }
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
})
