import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareAnswers, type NormalAnswer } from './compare-answers.ts'

const answer = (more: Partial<NormalAnswer> = {}): NormalAnswer => ({
  status: 200,
  headers: {},
  warnings: [],
  body: {},
  ...more,
})
const failure = (more: object): NormalAnswer =>
  answer({
    status: 422,
    body: { kind: 'Status', status: 'Failure', reason: 'Invalid', message: 'a', ...more },
  })
const causes = (...list: readonly string[]): NormalAnswer =>
  failure({
    details: {
      causes: list.map(each => {
        const [field, reason, message] = each.split(' ')
        return { field, reason, message }
      }),
    },
  })
const list = (...names: readonly string[]): NormalAnswer =>
  answer({ body: { kind: 'PodList', items: names.map(name => ({ metadata: { name } })) } })

test('differences have the class of what differs', () => {
  const check = (ours: NormalAnswer, theirs: NormalAnswer, ...expected: readonly string[]): void => {
    const found = compareAnswers(ours, theirs).map(({ class: kind, place }) => `${kind} ${place}`)
    assert.deepEqual(found, expected)
  }
  check(answer(), answer())
  check(answer(), answer({ status: 201, body: { more: 1 } }), 'status status')
  check(failure({ reason: 'Invalid' }), failure({ reason: 'BadRequest' }), 'reason reason')
  check(failure({ message: 'a' }), failure({ message: 'b' }), 'text /message')
  check(failure({ details: { name: 'a' } }), failure({ details: { name: 'b' } }), 'body /details/name')
  check(causes('a Required x'), causes('a Required y'), 'text /details/causes/a Required')
  check(
    causes('a Required x'),
    causes('b Required x'),
    'causes /details/causes/a Required',
    'causes /details/causes/b Required',
  )
  check(causes('a R x', 'b R x'), causes('b R x', 'a R x'), 'causes /details/causes (order)')
  check(causes('a R x', 'a R y'), causes('a R x'), 'causes /details/causes/a R')
  check(answer({ body: { spec: 1 } }), answer({ body: { spec: 2 } }), 'body /spec')
  check(answer({ body: { message: 'a' } }), answer({ body: { message: 'b' } }), 'text /message')
  check(answer({ body: { message: 'a' } }), answer(), 'body /message')
  check(answer({ warnings: ['a'] }), answer({ warnings: ['b'] }), 'warnings warnings')
  check(answer({ headers: { allow: 'GET' } }), answer(), 'headers headers/allow')
  check(list('a', 'b'), list('a', 'b'))
  check(list('a', 'b'), list('b', 'c'), 'objects /items//a', 'objects /items//c')
  check(list('a', 'b'), list('b', 'a'), 'body /items/0/metadata/name', 'body /items/1/metadata/name')
})
