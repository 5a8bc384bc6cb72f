import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { isActivated, isTyping, keyName } from './key-name.ts'

export interface KeyBinding {
  /** `j`, `Enter`, `ctrl-d`; several keys that do the same are separated by spaces. */
  readonly keys: string
  /** What the key does, for the overview of keys; empty to leave it out. */
  readonly title: string
  readonly run: () => void
  /** If false, the key is left to other bindings. */
  readonly isActive?: () => boolean
}

type Bindings = readonly KeyBinding[]

/** Bindings of mounted components; the latest have precedence. */
const layers = signal<readonly { readonly current: Bindings }[]>([])

/** Binds keys while the component is mounted. */
export function useKeys(bindings: Bindings): void {
  const layer = useRef(bindings)
  layer.current = bindings
  useEffect(() => {
    layers.value = [...layers.peek(), layer]
    return () => {
      layers.value = layers.peek().filter(each => each !== layer)
    }
  }, [])
}

/** Bindings that are in effect, without those hidden by others with the same keys. */
export function currentBindings(): KeyBinding[] {
  const found = new Map<string, KeyBinding>()
  for (const { current } of layers.value) {
    for (const binding of current) {
      if (binding.title !== '') found.set(binding.keys, binding)
    }
  }
  return [...found.values()]
}

export function startKeyboard(): void {
  addEventListener('keydown', event => {
    if (event.defaultPrevented || event.isComposing) return
    const key = keyName(event)
    // In a field, keys are text; Escape leaves it.
    if (isTyping(event.target) && key !== 'Escape') return
    // Keys that act on the element with the focus.
    if ((key === 'Enter' || key === 'Space') && isActivated(event.target)) return
    // An open dialog is modal: its element handles keys.
    if (document.querySelector('dialog[open]') !== null) return
    for (const { current } of layers.peek().toReversed()) {
      const binding = current.find(
        ({ keys, isActive }) => keys.split(' ').includes(key) && isActive?.() !== false,
      )
      if (binding === undefined) continue
      event.preventDefault()
      binding.run()
      return
    }
  })
}
