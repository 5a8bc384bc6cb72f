import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { requireSuccess } from './attach-created-pod.ts'
import { planOldWorkload } from './old-generators.ts'
import { planPod } from './plan-pod.ts'
import type { RunFlagValues } from './run-flags.ts'
import { isImageReference } from './validate-run.ts'

const digest = `sha256:${'0123456789abcdef'.repeat(4)}`

for (const [image, isValid] of [
  ['nginx', true],
  ['nginx:1.27', true],
  ['nginx:', false],
  ['NGINX', false],
  ['A.example.com/b', true],
  ['localhost:5000/a/b_c:v1', true],
  ['[::1]:5000/a', true],
  ['a:b/c', false],
  ['a b', false],
  ['', false],
  ['a/', false],
  ['/a', false],
  ['a//b', false],
  ['a___b', false],
  ['a---b', true],
  ['-a.com/b', false],
  [`nginx@${digest}`, true],
  [`nginx:1@${digest}`, true],
  ['nginx@sha256:00', false],
  [`nginx:${'t'.repeat(128)}`, true],
  [`nginx:${'t'.repeat(129)}`, false],
] as const) {
  test(`${JSON.stringify(image.slice(0, 40))} ${isValid ? 'is' : 'is not'} the name of an image`, () => {
    assert.equal(isImageReference(image), isValid)
  })
}

test('a long name of an image is checked in linear time', () => {
  assert.equal(isImageReference(`${'a-'.repeat(100_000)}!`), false)
  assert.equal(isImageReference(`${'a.-'.repeat(100_000)}/b`), false)
})

/** The generated object, or the message of the error. */
function planned(flags: RunFlagValues, args: readonly string[] = []): string {
  try {
    return JSON.stringify(planPod({ name: 'web', args, flags: { image: 'i', ...flags } })['spec'])
  } catch (error) {
    return (error as Error).message
  }
}

const rest = '"restartPolicy":"Always","dnsPolicy":"ClusterFirst"'

for (const [flags, expected, args] of [
  [
    { port: '80', hostport: 8080 },
    `{"containers":[{"name":"web","image":"i","ports":[{"hostPort":8080,"containerPort":80}],"resources":{}}],${rest}}`,
  ],
  [
    { requests: 'memory=1Gi,cpu=100m' },
    `{"containers":[{"name":"web","image":"i","resources":{"requests":{"cpu":"100m","memory":"1Gi"}}}],${rest}}`,
  ],
  [
    { stdin: true, tty: true },
    `{"containers":[{"name":"web","image":"i","resources":{},"stdin":true,"stdinOnce":true,"tty":true}],${rest}}`,
  ],
  [{}, `{"containers":[{"name":"web","image":"i","args":["a"],"resources":{}}],${rest}}`, ['a']],
  [
    { command: true },
    `{"containers":[{"name":"web","image":"i","command":["a"],"resources":{}}],${rest}}`,
    ['a'],
  ],
  [{ hostport: 80 }, '--hostport requires --port to be specified'],
  [{ port: 'x' }, 'strconv.Atoi: parsing "x": invalid syntax'],
  [{ env: ['=x'] }, 'invalid env: =x'],
  [{ annotations: ['x-'] }, 'invalid annotations format: x-'],
] as const satisfies readonly (readonly [RunFlagValues, string, (readonly string[])?])[]) {
  test(`the pod with ${JSON.stringify(flags)} ${args ? 'and arguments ' : ''}is ${expected.slice(0, 60)}`, () => {
    assert.equal(planned(flags, args), expected)
  })
}

for (const [flags, kind] of [
  [{}, 'Deployment'],
  [{ restart: 'Always' }, 'Deployment'],
  [{ restart: 'OnFailure' }, 'Job'],
  [{ restart: 'Never' }, 'Pod'],
  [{ schedule: '* * * * *' }, 'CronJob'],
  [{ generator: 'run/v1' }, 'ReplicationController'],
  [{ generator: 'run-pod/v1', restart: 'Always' }, 'Pod'],
  [{ generator: 'cronjob/v1beta1', schedule: '* * * * *' }, 'CronJob'],
  [{ generator: 'job/v1', restart: 'Never' }, 'Job'],
] as const satisfies readonly (readonly [RunFlagValues, string])[]) {
  test(`before kubectl 1.18, run with ${JSON.stringify(flags)} created a ${kind}`, () => {
    const { object, resource, deprecation } = planOldWorkload({ name: 'web', args: [], flags })
    assert.equal(object['kind'], kind)
    assert.equal(resource.kind, kind)
    const isDefaultPod = kind === 'Pod'
    assert.equal(deprecation === undefined, isDefaultPod)
  })
}

test('an unknown generator is refused', () => {
  const plan = () => planOldWorkload({ name: 'web', args: [], flags: { generator: 'x/v1' } })
  assert.throws(plan, { message: 'generator "x/v1" not found' })
})

function podWith(status: Pod['status']): Pod {
  return { metadata: { name: 'web', namespace: 'shop' }, ...(status && { status }) }
}

test('a failed container gives its exit code', () => {
  requireSuccess(podWith({ phase: 'Succeeded' }))
  assert.throws(() => requireSuccess(podWith({ phase: 'Failed' })), {
    message: 'pod shop/web failed with unknown exit code',
  })
  assert.throws(() => requireSuccess(podWith({ phase: 'Running' })), {
    message: 'pod shop/web left in phase Running',
  })
  const terminated = { exitCode: 3, reason: 'Error' }
  const containerStatuses = [
    { name: 'web', image: 'i', imageID: '', ready: false, restartCount: 0, state: { terminated } },
  ]
  assert.throws(() => requireSuccess(podWith({ phase: 'Failed', containerStatuses })), {
    exitCode: 3,
    message: 'pod shop/web terminated (Error)\n',
  })
})
