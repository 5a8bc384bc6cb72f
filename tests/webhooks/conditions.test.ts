/** Match conditions of webhooks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  configMap,
  configMaps,
  configuration,
  configurations,
  rule,
  startWorld,
  usual,
} from './webhook-server.ts'

const kinds = ['mutating', 'validating'] as const

test('matchConditions select requests; their errors follow the failurePolicy', async t => {
  const world = await startWorld(t)
  const user = { username: 'ann', groups: ['system:masters', 'system:authenticated'] }
  let count = 0
  /** `asked`, `not asked`, or the error. */
  const check = async (expected: string, ...expressions: readonly string[]): Promise<void> => {
    for (const failurePolicy of expected.startsWith('403') ? ['Fail', 'Ignore'] : ['Fail']) {
      const matchConditions = expressions.map((expression, index) => ({ name: `c${index}`, expression }))
      await world.configure('validating', 'test', { matchConditions, failurePolicy })
      const { code, body } = await world.as(user)(
        'POST',
        `${configMaps}?dryRun=All`,
        configMap(`m${count++}`, { a: 'b' }),
      )
      const asked = world.hook.asked.splice(0).length === 1 ? 'asked' : 'not asked'
      const outcome = code < 300 ? asked : `${code} ${body.message?.replace(/"m\d+"/u, '"m"')}`
      assert.equal(outcome, failurePolicy === 'Ignore' ? 'not asked' : expected, expressions.join(' and '))
      await world.request('DELETE', `${configurations('validating')}/test`)
      await world.request('GET', configMaps)
    }
  }
  const forbidden = '403 configmaps "m" is forbidden: '
  await check('asked', 'true', 'object.data.a == "b"')
  await check('not asked', 'true', 'false')
  await check('asked', 'oldObject == null && object.metadata.namespace == "default"')
  await check(
    'asked',
    'request.operation == "CREATE" && request.resource.resource == "configmaps" && request.dryRun',
  )
  await check('asked', 'request.userInfo.username == "ann" && "system:masters" in request.userInfo.groups')
  await check('asked', 'request.options.kind == "CreateOptions" && request.name.startsWith("m")')
  await check('asked', 'authorizer.group("").resource("pods").check("get").allowed()')
  await check('asked', 'authorizer.requestResource.check("create").allowed()')
  await check(
    'not asked',
    'authorizer.serviceAccount("default", "nobody").group("").resource("pods").check("get").allowed()',
  )
  await check(
    `${forbidden}expression 'object.data.nothing == "x"' resulted in error: no such key: nothing`,
    'object.data.nothing == "x"',
  )
  await check('not asked', 'object.data.nothing == "x"', 'false')
  await check(
    `${forbidden}[expression 'object.x == 1' resulted in error: no such key: x, ` +
      "expression 'object.y == 1' resulted in error: no such key: y]",
    'object.x == 1',
    'object.y == 1',
  )
  const long = `[${Array.from({ length: 200 }, () => '1').join(',')}]`
  const costly = `${long}.all(a, ${long}.all(b, ${long}.all(c, a + b + c > 0)))`
  await check(
    `${forbidden}expression '${costly}' resulted in error: operation cancelled: actual cost limit exceeded`,
    costly,
  )
})

for (const kind of kinds) {
  test(`should reject ${kind} webhook configurations with invalid match conditions`, async t => {
    const world = await startWorld(t)
    const check = async (expression: string, expected: RegExp): Promise<void> => {
      const webhook = { ...usual(world.hook), matchConditions: [{ name: 'c', expression }] }
      const { code, body } = await world.request(
        'POST',
        configurations(kind),
        configuration(kind, 'c', [webhook]),
      )
      assert.equal(code, 422)
      assert.match(body.message ?? '', expected)
    }
    await check(
      '... [] bad expression',
      /webhooks\[0\]\.matchConditions\[0\]\.expression: Invalid value: .*: compilation failed: ERROR: .*Syntax error/u,
    )
    await check(
      'object.metadata.name',
      /Invalid value: "object\.metadata\.name": must evaluate to bool but got dyn$/u,
    )
    await check('request.nothing == 1', /compilation failed: .*undefined field 'nothing'/u)
    await check('nothing', /compilation failed: .*undeclared reference to 'nothing'/u)
  })
}

test("should mutate everything except 'skip-me' configmaps", async t => {
  const world = await startWorld(t)
  const { request } = world
  world.answers.set('', () => ({
    allowed: true,
    patchType: 'JSONPatch',
    patch: Buffer.from('[{"op":"add","path":"/data/mutated","value":"yes"}]').toString('base64'),
  }))
  await world.configure('mutating', 'c', {
    rules: [rule('configmaps', ['CREATE'])],
    matchConditions: [{ name: 'skip', expression: "object.metadata.name != 'skip-me'" }],
  })
  const data = async (name: string): Promise<unknown> =>
    (await request('POST', configMaps, configMap(name, { a: 'b' }))).body['data']
  assert.deepEqual(await data('skip-me'), { a: 'b' })
  assert.deepEqual(await data('other'), { a: 'b', mutated: 'yes' })
})
