//! Pages render: well-formed, with every step, and without anything from elsewhere.

use crate::support::{has_emulator, skip, sums};
use roxmltree::{Document, ParsingOptions};
use std::fs;
use std::path::Path;
use std::process::Command;
use warpfold::ladder::steps;

fn parse(text: &str) -> Document<'_> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(text, options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_page_has_every_step() {
    let html = sums().html();
    let page = parse(&html);
    let articles: Vec<_> = page
        .descendants()
        .filter(|node| node.has_tag_name("article") || node.tag_name().name() == "article")
        .collect();
    let names: Vec<_> = articles
        .iter()
        .filter_map(|node| node.attribute("id"))
        .collect();
    assert_eq!(names, steps().map(|step| step.name).collect::<Vec<_>>());
    if !has_emulator() {
        return;
    }
    for (article, step) in articles.iter().zip(steps()) {
        let has = |name| {
            article
                .descendants()
                .any(|node| node.tag_name().name() == name)
        };
        let is_drawn = step.kernel().is_some() && step.is_sound();
        assert_eq!(has("svg"), is_drawn, "{}", step.name);
        assert_eq!(has("details"), step.kernel().is_some(), "{}", step.name);
    }
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let html = sums().html();
    for node in parse(&html).descendants() {
        assert_ne!(node.tag_name().name(), "script");
        for attribute in node.attributes() {
            if matches!(attribute.name(), "src" | "href" | "srcset" | "data") {
                assert!(attribute.value().starts_with('#'), "{attribute:?}");
            }
        }
    }
    assert!(!html.contains("url(") && !html.contains("@import"));
    // Links within the page lead somewhere.
    let page = parse(&html);
    let ids: Vec<_> = page
        .descendants()
        .filter_map(|node| node.attribute("id"))
        .collect();
    for link in page.descendants().filter_map(|node| node.attribute("href")) {
        assert!(ids.contains(&&link[1..]), "{link}");
    }
}

#[test]
fn markdown_has_every_step_and_its_pictures() {
    let markdown = sums().markdown("ladder", "..");
    for step in steps() {
        assert!(
            markdown.text.contains(&format!("### {}\n", step.name)),
            "{}",
            step.name
        );
    }
    assert!(markdown.text.contains("not measured yet"));
    for (name, svg) in &markdown.pictures {
        assert!(
            markdown.text.contains(&format!("(ladder/{name})")),
            "{name}"
        );
        parse(svg);
    }
    assert!(!markdown.text.contains("\n\n\n"), "{}", markdown.text);
}

/// In a real browser, if there is one: the page fills the window, and nothing is wider than it.
#[test]
fn a_browser_shows_the_page() {
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let starts = |name: &&&str| Command::new(name).arg("--version").output().is_ok();
    let Some(browser) = browsers.iter().find(starts) else {
        return skip("browser", "there is no Chromium");
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ladder-page");
    fs::create_dir_all(&folder).unwrap();
    let page = folder.join("ladder.html");
    fs::write(&page, sums().html()).unwrap();
    let profile = tempfile::tempdir_in(&folder).unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--window-size=500,900", "--dump-dom"])
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for step in steps() {
        assert!(
            shown.contains(&format!("<article id=\"{}\">", step.name)),
            "{}",
            step.name
        );
    }
    assert!(!shown.contains("parsererror"), "{shown}");
}
