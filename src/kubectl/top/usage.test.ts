import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareUsage, percentText, sumOf, usageOf, usageText } from './usage.ts'

test('usage is shown in millicores and mebibytes', () => {
  const check = (cpu: string, memory: string, text: string) => {
    const usage = usageOf({ cpu, memory })
    assert.equal(`${usageText('cpu', usage.cpu)} ${usageText('memory', usage.memory)}`, text)
  }
  check('250m', '128Mi', '250m 128Mi')
  check('1', '1Gi', '1000m 1024Mi')
  check('1500000n', '1000Ki', '2m 0Mi')
  check('0', '0', '0m 0Mi')
  const sum = sumOf([usageOf({ cpu: '100m', memory: '1Mi' }), usageOf({ cpu: '50m' })])
  assert.equal(`${usageText('cpu', sum.cpu)} ${usageText('memory', sum.memory)}`, '150m 1Mi')
})

test('percentages are truncated', () => {
  const check = (used: string, available: string, text: string) =>
    assert.equal(percentText(usageOf({ cpu: used }).cpu, usageOf({ cpu: available }).cpu), text)
  check('1', '3', '33%')
  check('2', '3', '66%')
  check('0', '3', '0%')
  check('1', '0', '0%')
  check('3', '2', '150%')
})

test('items are sorted by name or by size', () => {
  const items = [
    { name: 'b', usage: usageOf({ cpu: '2', memory: '1Mi' }) },
    { name: 'a', usage: usageOf({ cpu: '1', memory: '3Mi' }) },
    { name: 'c', usage: usageOf({ cpu: '3', memory: '2Mi' }) },
  ]
  const check = (sortBy: string, names: string) => {
    const compare = compareUsage<(typeof items)[number]>(sortBy, {
      usage: item => item.usage,
      name: item => item.name,
    })
    assert.equal(
      items
        .toSorted(compare)
        .map(({ name }) => name)
        .join(''),
      names,
    )
  }
  check('', 'abc')
  check('cpu', 'cba')
  check('memory', 'acb')
})
