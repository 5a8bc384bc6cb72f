import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rewriteLinks } from './rewrite-links.ts'

const shout = (url: string): string => url.toUpperCase()

test('only URLs in attributes of a page are rewritten', () => {
  const check = (html: string, expected = html): void => assert.equal(rewriteLinks(html, shout), expected)
  check('<a href="/x">/x</a>', '<a href="/X">/x</a>')
  check("<A class=b HREF = '/x' id=/y>", "<A class=b HREF = '/X' id=/y>")
  check('<a href=/x/>', '<a href=/X/>')
  check('<img src="/a"/><form action=/b>', '<img src="/A"/><form action=/B>')
  check('<link rel=x href="/a" href2="/b">', '<link rel=x href="/A" href2="/b">')
  check('<div href="/x">')
  check('<!-- <a href="/x"> --><a href="/y">', '<!-- <a href="/x"> --><a href="/Y">')
  check(
    '<script src="/a">"<a href=/x>"</script><a href=/y>',
    '<script src="/A">"<a href=/x>"</script><a href=/Y>',
  )
  check('<style><a href="/x"></STYLE><a href="/y">', '<style><a href="/x"></STYLE><a href="/Y">')
  check('<!doctype html><?xml href="/x"?></a href="/x">')
  check('a < b <a data-x href title="<a href=/x>">')
  check('<a href="/x', '<a href="/X')
  check('<a href=')
  check('<a')
  check('<a =/x href="/y">', '<a =/x href="/Y">')
  check('\xe9<a href="/x">\xff', '\xe9<a href="/X">\xff')
})

test('rewriting links takes linear time', () => {
  for (const part of ['<', '<a ', '<a href="', '<!--', '<script', '<a href=/x ', "='", '</', '<a b=">']) {
    const html = part.repeat(200_000)
    assert.equal(
      rewriteLinks(html, url => url),
      html,
      part,
    )
  }
})
