import assert from 'node:assert/strict'
import { test } from 'node:test'
import { controllersOf } from '#/controllers/controllers.ts'
import { enabledControllers } from './enabled-controllers.ts'

function check(flag: string, expected: Readonly<Record<string, boolean>>): void {
  const isEnabled = enabledControllers(flag === '' ? undefined : flag.split(','))
  for (const [name, isExpected] of Object.entries(expected))
    assert.equal(isEnabled(name), isExpected, `${flag}: ${name}`)
}

test('--controllers names controllers, excludes them, or means the default ones', () => {
  check('', { 'job-controller': true, 'token-cleaner-controller': false })
  check('*', { 'job-controller': true, 'bootstrap-signer-controller': false })
  check('*,bootstrapsigner,-job', { 'job-controller': false, 'bootstrap-signer-controller': true })
  check('job-controller', { 'job-controller': true, 'cronjob-controller': false })
  check('-job,job,*', { 'job-controller': false })
  assert.throws(() => enabledControllers(['*', '-nothing']), /^UsageError: --controllers: .*"nothing"$/)
})

test('every controller can be named', () => {
  const all = controllersOf({
    caCertificate: 'x',
    signCertificate: async () => '',
    signToken: () => '',
    clusterCidrs: ['10.0.0.0/16'],
    loadBalancerAddresses: ['192.0.2.0/28'],
  })
  for (const { name } of all) assert.ok(enabledControllers([name])(name))
})
