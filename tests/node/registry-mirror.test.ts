/** `k8ts up --registry-mirror` with a real registry: where images come from, and whose the files are that say so. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { program } from './container-cluster.ts'
import { LastingCluster } from './lasting-cluster.ts'
import { containersMissing } from './test-containerd.ts'
import { registryMissing, TestRegistry } from './test-registry.ts'

const skip = containersMissing || registryMissing

test(
  'a pod runs with an image of a registry mirror, and a start without the flag removes the mirror',
  { skip },
  async t => {
    const registry = await TestRegistry.start({ isPrivate: false })
    t.after(() => registry[Symbol.asyncDispose]())
    // Nothing listens at the first one.
    const urls = ['http://127.0.0.1:1', `http://${registry.address}/`]
    const flags = urls.map(url => `--registry-mirror=registry.example.com=${url}`)
    const cluster = await LastingCluster.start(t, { flags })
    const { containerdSocket, containerd } = cluster.folders
    const target = ['-a', containerdSocket, '-n', 'k8s.io', 'images', 'push', '--plain-http']
    const local = 'docker.io/library/nginx:1.7.9'
    await promisify(execFile)('ctr', [...target, `${registry.address}/team/web:1`, local])

    const image = 'registry.example.com/team/web:1'
    await cluster.client.create(pods, {
      metadata: { name: 'web', namespace: 'default' },
      spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'web', image }] },
    })
    await cluster.untilReady(['web'])
    const events = (await cluster.events('web')).join('\n')
    assert.match(events, /^Pulled: Successfully pulled image "registry\.example\.com\/team\/web:1"/m)

    const registries = join(containerd, 'certs.d')
    const ofFlag = join(registries, 'registry.example.com', 'hosts.toml')
    assert.match(await readFile(ofFlag, 'utf8'), /^# Written by k8ts up --registry-mirror/)
    const ofUser = join(registries, 'mine.example.com', 'hosts.toml')
    const text = 'server = "https://mine.example.com"\n'
    await mkdir(join(registries, 'mine.example.com'))
    await writeFile(ofUser, text)
    await cluster.stop()

    const parameters = ['up', '--runtime=containerd', '--port=0', '--data-dir', cluster.folder]
    const mirror = `--registry-mirror=mine.example.com=http://${registry.address}`
    const { status, stderr } = spawnSync(program, [...parameters, mirror], { encoding: 'utf8' })
    assert.equal(status, 1)
    assert.match(
      stderr,
      /^k8ts: --registry-mirror mine\.example\.com: \S+ was not written by this flag: .*\n$/,
    )
    assert.ok(stderr.includes(ofUser), stderr)
    assert.ok(existsSync(ofFlag), 'a start that fails changes nothing')

    await LastingCluster.start(t, { folder: cluster.folder })
    assert.ok(!existsSync(ofFlag))
    assert.equal(await readFile(ofUser, 'utf8'), text)
  },
)
