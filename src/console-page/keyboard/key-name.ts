type KeyEvent = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'altKey' | 'metaKey'>

/** `ctrl-d`, `Enter`, `?`: the shift key is part of the character. */
export function keyName({ key, ctrlKey, altKey, metaKey }: KeyEvent): string {
  const name = key === ' ' ? 'Space' : key
  return `${ctrlKey ? 'ctrl-' : ''}${altKey ? 'alt-' : ''}${metaKey ? 'meta-' : ''}${name}`
}

/** True if the element is activated with Enter or Space: a link, a button, a part that unfolds. */
export function isActivated(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('a[href], button, summary, [role=option]')
}

/** True if the element takes text from the keyboard. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName)
}
