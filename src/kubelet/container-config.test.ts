import assert from 'node:assert/strict'
import { test } from 'node:test'
import { containerConfigOf, ContainerConfigError, sandboxConfigOf } from './container-config.ts'
import { inputOf, machine, node, podWith } from './container-config/test-input.ts'
import { containerHash, containerOfAnnotations, podOfLabels } from './container-labels.ts'

const context = { attempt: 2, node, machine, resolvConf: 'nameserver 1.1.1.1\nsearch home\n' }

test('the sandbox configuration has the settings of the pod', () => {
  const pod = podWith({
    containers: [{ name: 'c', ports: [{ containerPort: 80, hostPort: 8080 }] }],
    securityContext: { sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] },
    hostname: 'front',
    subdomain: 'inner',
  })
  const { config, warnings } = sandboxConfigOf(pod, context)
  assert.deepEqual(warnings, [])
  assert.deepEqual(config.metadata, { name: 'web', namespace: 'shop', uid: 'u-1', attempt: 2 })
  assert.equal(config.hostname, 'front')
  assert.equal(config.logFolder, '/node/logs/pods/shop_web_u-1')
  assert.equal(config.cgroupParent, '/k8ts-0/kubepods/besteffort/podu-1')
  assert.deepEqual(config.dns, {
    servers: ['10.96.0.10'],
    searches: ['shop.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'home'],
    options: ['ndots:5'],
  })
  assert.deepEqual(config.portMappings, [{ protocol: 'TCP', containerPort: 80, hostPort: 8080, hostIp: '' }])
  assert.deepEqual(config.sysctls, { 'net.ipv4.tcp_syncookies': '1' })
  assert.equal(config.labels['app'], 'web')
  assert.deepEqual(podOfLabels(config.labels), { name: 'web', namespace: 'shop', uid: 'u-1' })
  assert.equal(sandboxConfigOf(podWith({ hostNetwork: true }), context).config.hostname, '')
  const long = podWith({ subdomain: 'x'.repeat(50), setHostnameAsFQDN: true })
  assert.throws(() => sandboxConfigOf(long, context), { reason: 'CreatePodSandboxError' })
})

test('the container configuration has the spec and the labels of the kubelet', async () => {
  const preStop = { exec: { command: ['stop'] } }
  const input = inputOf({
    spec: { terminationGracePeriodSeconds: 7 },
    container: {
      command: ['run', '$(MODE)'],
      env: [{ name: 'MODE', value: 'fast' }],
      workingDir: '/srv',
      stdin: true,
      tty: true,
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
      lifecycle: { preStop },
      resources: { limits: { memory: '64Mi' } },
    },
    more: { attempt: 4 },
  })
  const config = await containerConfigOf(input)
  assert.deepEqual(
    [config.name, config.attempt, config.image, config.userImage],
    ['c', 4, 'sha256:1', 'app:1'],
  )
  assert.deepEqual([config.command, config.args, config.workingDir], [['run', 'fast'], [], '/srv'])
  assert.deepEqual(config.environment, [{ name: 'MODE', value: 'fast' }])
  assert.equal(config.logPath, 'c/4.log')
  assert.deepEqual([config.stdin, config.stdinOnce, config.tty], [true, false, true])
  assert.equal(config.resources.memoryLimitBytes, 64 * 1024 ** 2)
  assert.deepEqual(podOfLabels(config.labels), { name: 'web', namespace: 'shop', uid: 'u-1', container: 'c' })
  assert.deepEqual(containerOfAnnotations(config.annotations), {
    hash: containerHash(input.container),
    restartCount: 4,
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    terminationGraceSeconds: 7,
    preStop,
  })
})

test("configuration errors have Kubernetes' reason and message", async () => {
  const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 'none', key: 'k' } } }]
  const message = 'secret "none" not found'
  const wanted = { name: 'ContainerConfigError', reason: 'CreateContainerConfigError', message }
  await assert.rejects(containerConfigOf(inputOf({ container: { env } })), wanted)
  const input = inputOf({ container: { envFrom: [{ configMapRef: { name: 'x' } }] } })
  const unreachable = async (): Promise<never> => {
    throw new Error('connection refused')
  }
  const broken = { ...input, sources: { ...input.sources, configMap: unreachable } }
  await assert.rejects(containerConfigOf(broken), (error: unknown) => {
    return error instanceof ContainerConfigError && error.message === 'connection refused'
  })
})
