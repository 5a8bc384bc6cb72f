import { effect, signal } from '@preact/signals'

/** `system` follows the setting of the operating system. */
type Theme = 'system' | 'light' | 'dark'

const storageKey = 'k8ts-theme'
const order: readonly Theme[] = ['system', 'light', 'dark']
const stored = localStorage.getItem(storageKey)

const theme = signal<Theme>(order.find(each => each === stored) ?? 'system')

/** What is shown: terminals and plots choose their colours by it. */
export const isDark = signal(false)

export function startTheme(): void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const systemIsDark = signal(system.matches)
  system.addEventListener('change', () => {
    systemIsDark.value = system.matches
  })
  effect(() => {
    isDark.value = theme.value === 'system' ? systemIsDark.value : theme.value === 'dark'
    document.documentElement.dataset['theme'] = isDark.value ? 'dark' : 'light'
  })
}

export function switchTheme(): void {
  const next: Theme = isDark.peek() ? 'light' : 'dark'
  theme.value = next
  localStorage.setItem(storageKey, next)
}
